/** Users, tokens, sessions and roles of a server with authentication: `client.security`. */
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

/** Sends a request, and resolves with its reply. */
type Send = <T>(
  method: string,
  path: string,
  body?: unknown,
  parameters?: Readonly<Record<string, string>>,
) => Promise<T>

export class SecurityClient {
  private readonly send: Send

  constructor(send: Send) {
    this.send = send
  }

  /** Who the server takes this client for. */
  getCaller(): Promise<CallerRecord> {
    return this.send('GET', '/v1/security/session')
  }

  /** For browsers: the session is a cookie, which `fetch` keeps there. */
  signIn(body: SignInBody): Promise<{ readonly name: string; readonly expiresAt: string }> {
    return this.send('POST', '/v1/security/session', body)
  }

  signOut(options: { readonly isEverywhere?: boolean } = {}): Promise<void> {
    const parameters: Record<string, string> = options.isEverywhere === true ? { everywhere: 'true' } : {}
    return this.send('DELETE', '/v1/security/session', undefined, parameters)
  }

  /** The own one; all sessions end. */
  changePassword(body: ChangePasswordBody): Promise<void> {
    return this.send('PUT', '/v1/security/password', body)
  }

  listUsers(): Promise<readonly SecurityUser[]> {
    return this.send('GET', '/v1/security/user')
  }

  getUser(name: string): Promise<SecurityUser> {
    return this.send('GET', userPath(name))
  }

  /** `problems` of the reply: roles for federated databases that are not served. */
  addUser(body: CreateUserBody): Promise<SecurityUserChanged> {
    return this.send('POST', '/v1/security/user', body)
  }

  updateUser(name: string, body: UpdateUserBody): Promise<SecurityUserChanged> {
    return this.send('PUT', userPath(name), body)
  }

  removeUser(name: string): Promise<void> {
    return this.send('DELETE', userPath(name))
  }

  /** Of all, for an administrator; else the own ones. */
  listTokens(): Promise<readonly SecurityToken[]> {
    return this.send('GET', '/v1/security/token')
  }

  /** The text of the token is in this reply alone. */
  createToken(body: CreateTokenBody): Promise<TokenCreated> {
    return this.send('POST', '/v1/security/token', body)
  }

  revokeToken(id: string): Promise<void> {
    return this.send('DELETE', `/v1/security/token/${encodeURIComponent(id)}`)
  }

  /** The audit log, the newest entries first; `next` of a page, given as `before`, leads to older ones. */
  readAudit(options: { readonly limit?: number; readonly before?: string } = {}): Promise<AuditPage> {
    const given = Object.entries(options).map(([name, value]) => [name, String(value)])
    return this.send('GET', '/v1/security/audit', undefined, Object.fromEntries(given))
  }

  listRoles(): Promise<readonly SecurityRole[]> {
    return this.send('GET', '/v1/security/role')
  }

  getRole(name: string): Promise<SecurityRoleChanged> {
    return this.send('GET', rolePath(name))
  }

  /** `problems` of the reply: what of the grants does not agree with the classes that there are. */
  addRole(body: CreateRoleBody): Promise<SecurityRoleChanged> {
    return this.send('POST', '/v1/security/role', body)
  }

  /** What is left out stays. */
  updateRole(name: string, body: ChangeRoleBody): Promise<SecurityRoleChanged> {
    return this.send('PUT', rolePath(name), body)
  }

  removeRole(name: string): Promise<void> {
    return this.send('DELETE', rolePath(name))
  }
}

function rolePath(name: string): string {
  return `/v1/security/role/${encodeURIComponent(name)}`
}

function userPath(name: string): string {
  return `/v1/security/user/${encodeURIComponent(name)}`
}
