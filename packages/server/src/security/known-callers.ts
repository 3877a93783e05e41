/** Caches callers in a process, and removes them as soon as any may have lost a permission (contract 9.1). */
import { AshlarError } from '@ashlar/engine'
import { cachedCallersMax, revisionIntervalMs } from '../limits.ts'
import type { Caller } from './caller.ts'
import { customRolesOf } from './custom-roles.ts'
import { LastUses } from './last-uses.ts'
import { type CachedSecret, type CachedUser, CallerReader } from './read-callers.ts'
import { RevisionWatch } from './revision-watch.ts'
import type { CustomRoles } from './roles.ts'
import type { SecurityDatabase } from './security-database.ts'

/** A cache of one kind, by name or id. */
class KeyedCache<T> {
  readonly byKey = new Map<string, T>()
  /** Shared reads in progress. */
  readonly inProgress = new Map<string, Promise<T | undefined>>()

  set(key: string, value: T): void {
    if (this.byKey.size >= cachedCallersMax) this.byKey.clear()
    this.byKey.set(key, value)
  }

  forget(): void {
    this.byKey.clear()
    this.inProgress.clear()
  }
}

export class CachedCallers {
  private readonly database: SecurityDatabase
  private readonly reader: CallerReader
  private readonly watch: RevisionWatch
  private readonly uses: LastUses
  private readonly onFault: (error: unknown) => void
  private readonly tokens = new KeyedCache<CachedSecret>()
  private readonly sessions = new KeyedCache<CachedSecret>()
  private readonly users = new KeyedCache<CachedUser>()
  /** Users by certificate and name. */
  private readonly holders = new KeyedCache<Caller>()
  private customRoles: Promise<CustomRoles> | undefined
  private timer: NodeJS.Timeout | undefined
  private readonly listeners: (() => void)[] = []

  /** `onFault`: called for background failures of the database, and for roles that cannot be read. */
  constructor(database: SecurityDatabase, onFault: (error: unknown) => void) {
    this.database = database
    this.onFault = onFault
    this.reader = new CallerReader(database, () => this.roles())
    const forget = (): void => this.forget()
    this.watch = new RevisionWatch(() => database.revision(), forget, onFault)
    this.uses = new LastUses(database, onFault)
  }

  /** Changes whenever the caches are cleared. */
  get epoch(): number {
    return this.watch.epoch
  }

  async start(): Promise<void> {
    await this.refresh()
    this.timer = setInterval(() => this.tick(), revisionIntervalMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.timer)
    this.uses.write()
    await Promise.allSettled([this.watch.ended(), this.uses.written()])
  }

  /** `listener`: called several times a second, after the caches were cleared if needed. */
  onTick(listener: () => void): void {
    this.listeners.push(listener)
  }

  /** Checks now whether a caller has lost a permission. */
  refresh(): Promise<void> {
    return this.watch.refresh()
  }

  /** Returns undefined for an unknown token or a disabled owner. Throws StoreUnavailable. */
  async token(id: string): Promise<CachedSecret | undefined> {
    this.checkReadable()
    return this.tokens.byKey.get(id) ?? this.load(this.tokens, id, () => this.reader.token(id))
  }

  /** Like `token`. */
  async session(id: string): Promise<CachedSecret | undefined> {
    this.checkReadable()
    return this.sessions.byKey.get(id) ?? this.load(this.sessions, id, () => this.reader.session(id))
  }

  /** Reads a session again that has ended by its cached state: another process may know of a later use. Removes it from the cache if it has ended. */
  rereadSession(session: CachedSecret): Promise<CachedSecret | undefined> {
    if (this.sessions.byKey.get(session.id) === session) this.sessions.byKey.delete(session.id)
    return this.session(session.id)
  }

  /** Undefined if the user does not exist, is disabled, or has no password. Throws StoreUnavailable. */
  async user(name: string): Promise<CachedUser | undefined> {
    this.checkReadable()
    return this.users.byKey.get(name) ?? this.load(this.users, name, () => this.reader.user(name))
  }

  /** The user of a certificate; undefined if the user does not exist or is disabled. `id`: of the certificate. Throws StoreUnavailable. */
  async certificate(name: string, id: string, expiresAtMs: number): Promise<Caller | undefined> {
    this.checkReadable()
    const key = `${id} ${name}`
    return this.holders.byKey.get(key) ?? this.load(this.holders, key, () => this.reader.holder(name, id, expiresAtMs))
  }

  /** Whether the user still has the password by which a caller was authenticated. */
  hasSamePassword(user: CachedUser, before: Caller): boolean {
    return this.reader.hasSamePassword(user, before)
  }

  /** Reads a user from the database in any case: a read in progress may be older than a change of the password. */
  userAsStored(name: string): Promise<CachedUser | undefined> {
    this.checkReadable()
    return this.readInto(this.users, name, () => this.reader.user(name))
  }

  /** Must be called with each use. */
  noteTokenUse(token: CachedSecret, nowMs: number): void {
    this.uses.noteToken(token, nowMs)
  }

  noteSessionUse(session: CachedSecret, nowMs: number): void {
    this.uses.noteSession(session, nowMs)
  }

  /** Throws StoreUnavailable if the database has been unreadable for too long. */
  checkReadable(): void {
    if (!this.watch.isUnreadable) return
    throw new AshlarError(
      'StoreUnavailable',
      'The security database cannot be read, so no caller can be authenticated.',
    )
  }

  /** Returns the custom roles, read again after each change. Throws StoreUnavailable. */
  roles(): Promise<CustomRoles> {
    if (this.customRoles === undefined) {
      const reading = customRolesOf(this.database, this.onFault)
      this.customRoles = reading
      reading.catch(() => {
        if (this.customRoles === reading) this.customRoles = undefined
      })
    }
    return this.customRoles
  }

  private tick(): void {
    this.watch.tick()
    this.uses.write()
    for (const listener of this.listeners) listener()
  }

  private forget(): void {
    this.customRoles = undefined
    for (const cache of [this.tokens, this.sessions, this.users, this.holders]) cache.forget()
  }

  /** Reads each key once at a time, until the cache is cleared. */
  private load<T>(into: KeyedCache<T>, key: string, read: () => Promise<T | undefined>): Promise<T | undefined> {
    const shared = into.inProgress.get(key)
    if (shared !== undefined) return shared
    const loading = this.readInto(into, key, read).finally(() => {
      if (into.inProgress.get(key) === loading) into.inProgress.delete(key)
    })
    into.inProgress.set(key, loading)
    return loading
  }

  private async readInto<T>(
    into: KeyedCache<T>,
    key: string,
    read: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const { epoch } = this
    const value = await read()
    // If the caches were cleared meanwhile, the value may be outdated.
    if (value !== undefined && epoch === this.epoch) into.set(key, value)
    return value
  }
}
