/** Users, tokens, sessions and roles of a server with authentication: `client.security`. */
import type { AuditOptions, CallOptions, SignOutOptions } from './options.ts'
import type { Transport } from './transport.ts'
import type {
  AuditPage,
  CallerRecord,
  ChangePasswordBody,
  ChangeRoleBody,
  CreateRoleBody,
  CreateTokenBody,
  CreateUserBody,
  SecurityRole,
  SecurityRoleChanged,
  SecurityToken,
  SecurityUser,
  SecurityUserChanged,
  SignInBody,
  TokenCreated,
  UpdateUserBody,
} from './wire.ts'

export class SecurityClient {
  private readonly transport: Transport

  constructor(transport: Transport) {
    this.transport = transport
  }

  /** Returns the authenticated caller: its kind, name and roles. */
  getCaller(options: CallOptions = {}): Promise<CallerRecord> {
    return this.transport.request('GET', '/v1/security/session', options)
  }

  /**
   * For web pages: starts a session. The browser keeps it in a cookie that scripts cannot read, and sends it with the following calls of this client. The page
   * must be of the same site as the server, and its origin listed with `--cors`. In Node, use `token` or `user`.
   */
  signIn(body: SignInBody, options: CallOptions = {}): Promise<{ readonly name: string; readonly expiresAt: string }> {
    return this.transport.request('POST', '/v1/security/session', { ...options, body })
  }

  /** Ends the session of this browser. */
  signOut({ isEverywhere, ...options }: SignOutOptions = {}): Promise<void> {
    const parameters = { everywhere: isEverywhere }
    return this.transport.request('DELETE', '/v1/security/session', { ...options, parameters })
  }

  /** Changes the caller's own password, and ends all of its sessions. */
  changePassword(body: ChangePasswordBody, options: CallOptions = {}): Promise<void> {
    return this.transport.request('PUT', '/v1/security/password', { ...options, body })
  }

  /** Lists all users. */
  listUsers(options: CallOptions = {}): Promise<readonly SecurityUser[]> {
    return this.transport.request('GET', '/v1/security/user', options)
  }

  /** Returns a user. */
  getUser(name: string, options: CallOptions = {}): Promise<SecurityUser> {
    return this.transport.request('GET', userPath(name), options)
  }

  /** Adds a user. `problems` in the reply names roles for federated databases that the server does not have. */
  addUser(body: CreateUserBody, options: CallOptions = {}): Promise<SecurityUserChanged> {
    return this.transport.request('POST', '/v1/security/user', { ...options, body })
  }

  /** Changes a user. Omitted fields keep their values. */
  updateUser(name: string, body: UpdateUserBody, options: CallOptions = {}): Promise<SecurityUserChanged> {
    return this.transport.request('PUT', userPath(name), { ...options, body })
  }

  /** Removes a user. */
  removeUser(name: string, options: CallOptions = {}): Promise<void> {
    return this.transport.request('DELETE', userPath(name), options)
  }

  /** Lists the caller's own tokens; for an administrator, all tokens. */
  listTokens(options: CallOptions = {}): Promise<readonly SecurityToken[]> {
    return this.transport.request('GET', '/v1/security/token', options)
  }

  /** Creates a token. Its secret is only in this reply. */
  createToken(body: CreateTokenBody, options: CallOptions = {}): Promise<TokenCreated> {
    return this.transport.request('POST', '/v1/security/token', { ...options, body })
  }

  /** Revokes a token. */
  revokeToken(id: string, options: CallOptions = {}): Promise<void> {
    return this.transport.request('DELETE', `/v1/security/token/${encodeURIComponent(id)}`, options)
  }

  /** Returns a page of the audit log, newest entries first. For older entries, pass its `next` as `before`. */
  readAudit({ signal, timeoutMs, ...parameters }: AuditOptions = {}): Promise<AuditPage> {
    return this.transport.request('GET', '/v1/security/audit', { signal, timeoutMs, parameters })
  }

  /** Lists all roles. */
  listRoles(options: CallOptions = {}): Promise<readonly SecurityRole[]> {
    return this.transport.request('GET', '/v1/security/role', options)
  }

  /** Returns a role. `problems` names grants that do not fit the classes. */
  getRole(name: string, options: CallOptions = {}): Promise<SecurityRoleChanged> {
    return this.transport.request('GET', rolePath(name), options)
  }

  /** Adds a role. `problems` in the reply names grants that do not fit the classes. */
  addRole(body: CreateRoleBody, options: CallOptions = {}): Promise<SecurityRoleChanged> {
    return this.transport.request('POST', '/v1/security/role', { ...options, body })
  }

  /** Changes a role. Omitted fields keep their values. */
  updateRole(name: string, body: ChangeRoleBody, options: CallOptions = {}): Promise<SecurityRoleChanged> {
    return this.transport.request('PUT', rolePath(name), { ...options, body })
  }

  /** Removes a role that no user or token has. */
  removeRole(name: string, options: CallOptions = {}): Promise<void> {
    return this.transport.request('DELETE', rolePath(name), options)
  }
}

function rolePath(name: string): string {
  return `/v1/security/role/${encodeURIComponent(name)}`
}

function userPath(name: string): string {
  return `/v1/security/user/${encodeURIComponent(name)}`
}
