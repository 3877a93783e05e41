/** The callers that a process remembers, and when it forgets them: as soon as somebody may have lost a right (contract 9.1). */
import { AshlarError, type Awaitable } from '@ashlar/engine'
import {
  lastUseMsMin,
  rememberedCallersMax,
  revisionIntervalMs,
  sessionIdleMsMax,
  unreadableSecurityMsMax,
} from '../limits.ts'
import { type Caller, makeCaller } from './caller.ts'
import type { Credential } from './credential.ts'
import { ownRolesOf } from './own-roles.ts'
import { type OwnRoles, readGrant } from './roles.ts'
import { readDigest } from './secrets.ts'
import type { SecurityDatabase } from './security-database.ts'
import { className } from './security-schema.ts'
import { noteSessionUses } from './sessions.ts'
import { noteUses } from './tokens.ts'
import { findUser, type StoredUser } from './users.ts'

/** Of a token or a session. */
export interface KnownSecret {
  readonly id: string
  readonly caller: Caller
  /** Of the secret. */
  readonly digest: Buffer
  /** As the database has it, or this process has told it. */
  lastUsedAtMs: number
}

export interface KnownUser {
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

type Uses = (database: SecurityDatabase, times: ReadonlyMap<string, number>) => Promise<void>

/** Those of one kind, by name or id. */
class Remembered<T> {
  readonly byKey = new Map<string, T>()
  /** What is being read, for all who ask for it meanwhile. */
  readonly underWay = new Map<string, Promise<T | undefined>>()

  set(key: string, known: T): void {
    if (this.byKey.size >= rememberedCallersMax) this.byKey.clear()
    this.byKey.set(key, known)
  }

  forget(): void {
    this.byKey.clear()
    this.underWay.clear()
  }
}

export class KnownCallers {
  /** Changes whenever what was remembered is forgotten. */
  epoch = 0
  private readonly database: SecurityDatabase
  private readonly onFault: (error: unknown) => void
  private readonly tokens = new Remembered<KnownSecret>()
  private readonly sessions = new Remembered<KnownSecret>()
  private readonly users = new Remembered<KnownUser>()
  private ownRoles: Promise<OwnRoles> | undefined
  private revision: number | undefined
  private timer: NodeJS.Timeout | undefined
  /** While the revision is being read, or since it could not be read: when that began, by `performance.now()`. */
  private unknownSinceMs: number | undefined
  private reading: Promise<void> | undefined
  private isUnreadable = false
  /** Of callers by password: the hash of the one that they were known by. */
  private readonly hashOf = new WeakMap<Caller, string>()
  private readonly tokenUses = new Map<string, number>()
  private readonly sessionUses = new Map<string, number>()
  private noting: Promise<void> | undefined
  private readonly listeners: (() => void)[] = []

  /** `onFault`: told why the database could not be read or written in the background. */
  constructor(database: SecurityDatabase, onFault: (error: unknown) => void) {
    this.database = database
    this.onFault = onFault
  }

  async start(): Promise<void> {
    await this.refresh()
    this.timer = setInterval(() => this.tick(), revisionIntervalMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.timer)
    this.noteLastUses()
    await Promise.allSettled([this.reading, this.noting])
  }

  /** `listener`: called several times a second, after what was forgotten is forgotten. */
  onTick(listener: () => void): void {
    this.listeners.push(listener)
  }

  /** Looks whether somebody has lost a right, now. */
  async refresh(): Promise<void> {
    await this.reading
    this.read()
    await this.reading
  }

  /** Undefined for a token that is not there, or whose owner is disabled; remembered ones are returned at once. Throws StoreUnavailable. */
  token(id: string): Awaitable<KnownSecret | undefined> {
    this.checkReadable()
    return this.tokens.byKey.get(id) ?? this.load(this.tokens, id, () => this.readToken(id))
  }

  /** As `token`. */
  session(id: string): Awaitable<KnownSecret | undefined> {
    this.checkReadable()
    return this.sessions.byKey.get(id) ?? this.load(this.sessions, id, () => this.readSession(id))
  }

  /** As `session`, where what is remembered says that it is over: another process may know of a later use. It is forgotten if it is over. */
  sessionAgain(known: KnownSecret): Awaitable<KnownSecret | undefined> {
    if (this.sessions.byKey.get(known.id) === known) this.sessions.byKey.delete(known.id)
    return this.session(known.id)
  }

  /** Undefined for one who is not there, is disabled, or has no password. Throws StoreUnavailable. */
  user(name: string): Awaitable<KnownUser | undefined> {
    this.checkReadable()
    return this.users.byKey.get(name) ?? this.load(this.users, name, () => this.readUser(name))
  }

  /** Whether the user still has the password that a caller was known by. */
  isOfSamePassword({ passwordHash }: KnownUser, before: Caller): boolean {
    return this.hashOf.get(before) === passwordHash
  }

  /** The same, read from the database in any case: a reading that is under way may be older than a change of the password. */
  userAsStored(name: string): Promise<KnownUser | undefined> {
    this.checkReadable()
    return this.readInto(this.users, name, () => this.readUser(name))
  }

  /** To be called with each use; it is written in the background, once a minute. */
  noteTokenUse(known: KnownSecret, nowMs: number): void {
    if (nowMs - known.lastUsedAtMs < lastUseMsMin) return
    known.lastUsedAtMs = nowMs
    this.tokenUses.set(known.id, nowMs)
  }

  noteSessionUse(known: KnownSecret, nowMs: number): void {
    if (nowMs - known.lastUsedAtMs < lastUseMsMin) return
    known.lastUsedAtMs = nowMs
    this.sessionUses.set(known.id, nowMs)
  }

  /** Throws StoreUnavailable where it could not be read for too long. */
  checkReadable(): void {
    if (!this.isUnreadable) return
    throw new AshlarError('StoreUnavailable', 'The security database cannot be read: nobody can be let in.')
  }

  /** One reading at a time for each key, until what is remembered is forgotten. */
  private load<T>(into: Remembered<T>, key: string, read: () => Promise<T | undefined>): Promise<T | undefined> {
    const shared = into.underWay.get(key)
    if (shared !== undefined) return shared
    const loading = this.readInto(into, key, read).finally(() => {
      if (into.underWay.get(key) === loading) into.underWay.delete(key)
    })
    into.underWay.set(key, loading)
    return loading
  }

  private async readInto<T>(
    into: Remembered<T>,
    key: string,
    read: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const { epoch } = this
    const known = await read()
    // What was forgotten meanwhile may be what was read.
    if (known !== undefined && epoch === this.epoch) into.set(key, known)
    return known
  }

  private async readToken(id: string): Promise<KnownSecret | undefined> {
    const columns =
      'name, secretHash, roles, hasRoles, expiresAtMs, lastUsedAtMs, owner.name, owner.roles, owner.isDisabled'
    const [row] = await this.database.rows<TokenRow>(`FROM ${className.token} WHERE tokenId = $id RETURN ${columns}`, {
      id,
    })
    if (row === undefined || row['owner.isDisabled'] === true) return undefined
    const owner = row['owner.name']
    const ofOwner = row['owner.roles']?.map(readGrant)
    const own = row.hasRoles ? row.roles.map(readGrant) : undefined
    const caller = makeCaller({
      kind: 'token',
      // No user has a colon in its name.
      name: owner ?? `token:${row.name}`,
      identity: owner === null ? `token:${id}` : `user:${owner}`,
      grants: own ?? ofOwner ?? [],
      bounds: own === undefined ? undefined : ofOwner,
      ownRoles: await this.roles(),
      claims: {},
      credential: { kind: 'token', id },
      expiresAtMs: row.expiresAtMs === 0 ? Number.POSITIVE_INFINITY : row.expiresAtMs,
    })
    return { id, caller, digest: readDigest(row.secretHash), lastUsedAtMs: row.lastUsedAtMs }
  }

  private async readSession(id: string): Promise<KnownSecret | undefined> {
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

  private async readUser(name: string): Promise<KnownUser | undefined> {
    const user = await findUser(this.database, name)
    if (user === undefined || user.isDisabled || user.passwordHash === '') return undefined
    const caller = await this.callerOf(user, { kind: 'password', id: name }, Number.POSITIVE_INFINITY)
    this.hashOf.set(caller, user.passwordHash)
    return { caller, passwordHash: user.passwordHash }
  }

  private async callerOf({ name, roles }: StoredUser, credential: Credential, expiresAtMs: number): Promise<Caller> {
    const grants = roles.map(readGrant)
    const ownRoles = await this.roles()
    return makeCaller({
      kind: 'user',
      name,
      identity: `user:${name}`,
      grants,
      ownRoles,
      claims: {},
      credential,
      expiresAtMs,
    })
  }

  /** Of one's own: read once, until something changes. Throws StoreUnavailable. */
  roles(): Promise<OwnRoles> {
    if (this.ownRoles === undefined) {
      const reading = ownRolesOf(this.database)
      this.ownRoles = reading
      reading.catch(() => {
        if (this.ownRoles === reading) this.ownRoles = undefined
      })
    }
    return this.ownRoles
  }

  private tick(): void {
    if (this.reading === undefined) this.read()
    if (this.unknownSinceMs !== undefined && performance.now() - this.unknownSinceMs > unreadableSecurityMsMax) {
      this.isUnreadable = true
    }
    this.noteLastUses()
    for (const listener of this.listeners) listener()
  }

  private read(): void {
    this.unknownSinceMs ??= performance.now()
    this.reading = this.database
      .revision()
      .then((revision) => this.found(revision))
      .catch((error) => this.onFault(error))
      .finally(() => {
        this.reading = undefined
      })
  }

  private found(revision: number): void {
    this.unknownSinceMs = undefined
    this.isUnreadable = false
    if (revision === this.revision) return
    this.revision = revision
    this.epoch += 1
    this.ownRoles = undefined
    for (const remembered of [this.tokens, this.sessions, this.users]) remembered.forget()
  }

  private noteLastUses(): void {
    if (this.noting !== undefined || this.tokenUses.size + this.sessionUses.size === 0) return
    this.noting = this.noteBoth()
      .catch((error) => this.onFault(error))
      .finally(() => {
        this.noting = undefined
      })
  }

  private async noteBoth(): Promise<void> {
    const both: readonly (readonly [Map<string, number>, Uses])[] = [
      [this.tokenUses, noteUses],
      [this.sessionUses, noteSessionUses],
    ]
    for (const [uses, note] of both) {
      if (uses.size === 0) continue
      const times = new Map(uses)
      uses.clear()
      await note(this.database, times)
    }
  }
}
