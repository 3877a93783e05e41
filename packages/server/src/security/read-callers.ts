/** Reads callers from the security database: the holder of a token, session or name, and the permissions of its roles (contract 9.1). */
import { sessionIdleMsMax } from '../limits.ts'
import { type Caller, type CallerKind, type Credential, makeCaller } from './caller.ts'
import { type CustomRoles, readGrant } from './roles.ts'
import { readDigest } from './secrets.ts'
import type { SecurityDatabase } from './security-database.ts'
import { className } from './security-schema.ts'
import { findUser, type StoredUser } from './users.ts'

export interface CachedSecret {
  readonly id: string
  readonly caller: Caller
  readonly digest: Buffer
  /** As in the database, or recorded by this process. */
  lastUsedAtMs: number
}

export interface CachedUser {
  readonly caller: Caller
  readonly passwordHash: string
}

interface TokenRow {
  readonly name: string
  readonly secretHash: string
  readonly roles: readonly string[]
  readonly hasRoles: boolean
  readonly expiresAtMs: number
  readonly lastUsedAtMs: number
  readonly 'owner.name': string | null
  readonly 'owner.roles': readonly string[] | null
  readonly 'owner.isDisabled': boolean | null
}

interface SessionRow {
  readonly secretHash: string
  readonly expiresAtMs: number
  readonly lastUsedAtMs: number
  readonly 'user.name': string | null
}

export class CallerReader {
  private readonly database: SecurityDatabase
  private readonly roles: () => Promise<CustomRoles>
  /** Password hashes of callers by password. */
  private readonly hashOf = new WeakMap<Caller, string>()

  constructor(database: SecurityDatabase, roles: () => Promise<CustomRoles>) {
    this.database = database
    this.roles = roles
  }

  /** Returns undefined for an unknown token, or if its owner is disabled. */
  async token(id: string): Promise<CachedSecret | undefined> {
    const columns =
      'name, secretHash, roles, hasRoles, expiresAtMs, lastUsedAtMs, owner.name, owner.roles, owner.isDisabled'
    const [row] = await this.database.rows<TokenRow>(`FROM ${className.token} WHERE tokenId = $id RETURN ${columns}`, {
      id,
    })
    if (row === undefined || row['owner.isDisabled'] === true) return undefined
    const owner = row['owner.name']
    const ownerGrants = row['owner.roles']?.map(readGrant)
    const tokenGrants = row.hasRoles ? row.roles.map(readGrant) : undefined
    const caller = makeCaller({
      kind: 'token',
      // User names contain no colon.
      name: owner ?? `token:${row.name}`,
      identity: owner === null ? `token:${id}` : identityOfUser(owner),
      grants: tokenGrants ?? ownerGrants ?? [],
      bounds: tokenGrants === undefined ? undefined : ownerGrants,
      customRoles: await this.roles(),
      claims: {},
      credential: { kind: 'token', id },
      expiresAtMs: row.expiresAtMs === 0 ? Number.POSITIVE_INFINITY : row.expiresAtMs,
    })
    return { id, caller, digest: readDigest(row.secretHash), lastUsedAtMs: row.lastUsedAtMs }
  }

  /** Also undefined if the session was unused for too long. */
  async session(id: string): Promise<CachedSecret | undefined> {
    const columns = 'secretHash, expiresAtMs, lastUsedAtMs, user.name'
    const [row] = await this.database.rows<SessionRow>(
      `FROM ${className.session} WHERE sessionId = $id RETURN ${columns}`,
      { id },
    )
    const user = row === undefined ? undefined : await findUser(this.database, row['user.name'] ?? '')
    if (row === undefined || user === undefined || user.isDisabled) return undefined
    if (row.lastUsedAtMs + sessionIdleMsMax <= Date.now()) return undefined
    const caller = await this.callerOf(user, { kind: 'session', id }, row.expiresAtMs)
    return { id, caller, digest: readDigest(row.secretHash), lastUsedAtMs: row.lastUsedAtMs }
  }

  /** Undefined if the user does not exist, is disabled, or has no password. */
  async user(name: string): Promise<CachedUser | undefined> {
    const user = await findUser(this.database, name)
    if (user === undefined || user.isDisabled || user.passwordHash === '') return undefined
    const caller = await this.callerOf(user, { kind: 'password', id: name }, Number.POSITIVE_INFINITY)
    this.hashOf.set(caller, user.passwordHash)
    return { caller, passwordHash: user.passwordHash }
  }

  /** The user of a certificate, with or without a password; undefined if the user does not exist or is disabled. */
  async holder(name: string, id: string, expiresAtMs: number): Promise<Caller | undefined> {
    const user = await findUser(this.database, name)
    if (user === undefined || user.isDisabled) return undefined
    return this.callerOf(user, { kind: 'certificate', id }, expiresAtMs, 'certificate')
  }

  /** Whether the user still has the password by which a caller was authenticated. */
  hasSamePassword({ passwordHash }: CachedUser, before: Caller): boolean {
    return this.hashOf.get(before) === passwordHash
  }

  private async callerOf(
    { name, roles }: StoredUser,
    credential: Credential,
    expiresAtMs: number,
    kind: CallerKind = 'user',
  ): Promise<Caller> {
    const grants = roles.map(readGrant)
    const customRoles = await this.roles()
    return makeCaller({
      kind,
      name,
      identity: identityOfUser(name),
      grants,
      customRoles,
      claims: {},
      credential,
      expiresAtMs,
    })
  }
}

/** The identity of a user, which is the same for all credentials. */
export function identityOfUser(name: string): string {
  return `user:${name}`
}
