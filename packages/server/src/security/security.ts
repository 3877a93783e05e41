/** The security services of a server with authentication: the security database, cached callers and authentication schemes. */
import { AshlarError } from '@ashlar/engine'
import { ServerError } from '../errors/server-errors.ts'
import { type AuthenticationScheme, Authenticator } from './authenticator.ts'
import { type Caller, mayStill } from './caller.ts'
import { callerNow } from './caller-now.ts'
import { CachedCallers } from './known-callers.ts'
import { PasswordChecks } from './password-checks.ts'
import { PasswordHashes } from './password-hashes.ts'
import { PasswordScheme, SessionScheme, TokenScheme } from './schemes.ts'
import { isSecretOf, readSession } from './secrets.ts'
import type { SecurityDatabase } from './security-database.ts'
import { endSession } from './sessions.ts'
import { SignInThrottle } from './sign-in-throttle.ts'

/** Cached results of permission checks for a caller, by alias. */
interface Verdicts {
  readonly now: Caller
  readonly byAlias: Map<string, boolean>
}

export class Security {
  readonly database: SecurityDatabase
  readonly callers: CachedCallers
  private readonly throttle = new SignInThrottle()
  readonly hashes = new PasswordHashes((sharer) => this.throttle.failuresFrom(sharer))
  readonly passwords: PasswordChecks
  readonly authenticator: Authenticator
  /** Results by the caller at the start of the request: running statements are checked several times a second. */
  private readonly verdicts = new WeakMap<Caller, Verdicts>()

  /** `more`: schemes checked after the built-in ones; their callers may have roles from the security database. */
  constructor(
    database: SecurityDatabase,
    onFault: (error: unknown) => void,
    more: (callers: CachedCallers) => readonly AuthenticationScheme[] = () => [],
  ) {
    this.database = database
    this.callers = new CachedCallers(database, onFault)
    this.passwords = new PasswordChecks(this.callers, this.hashes, this.throttle)
    const schemes = [
      new TokenScheme(this.callers),
      new PasswordScheme(this.passwords),
      new SessionScheme(this.callers),
      ...more(this.callers),
    ]
    this.authenticator = new Authenticator(schemes, () => this.callers.epoch)
  }

  start(): Promise<void> {
    return this.callers.start()
  }

  async close(): Promise<void> {
    await this.callers.stop()
    await this.database.close()
  }

  /** Executes a change of users, tokens, sessions or roles. It takes effect in this process immediately, and in other processes within a second. */
  async change<T>(change: (database: SecurityDatabase) => Promise<T>): Promise<T> {
    const result = await change(this.database)
    await this.callers.refresh()
    return result
  }

  /** Ends the session of a cookie, if its secret is correct. */
  async endSessionOf(cookie: string): Promise<void> {
    const secret = readSession(cookie)
    const session = secret && (await this.callers.session(secret.id))
    if (secret === undefined || session === undefined || !isSecretOf(session.digest, secret.secret)) return
    await this.change((database) => endSession(database, secret.id))
  }

  /** Returns the reason to end the work of a caller on a federated database: an expired credential or a lost permission. */
  async endOf(before: Caller, alias: string): Promise<Error | undefined> {
    let now: Caller | undefined
    try {
      now = await callerNow(this.callers, before)
    } catch (error) {
      if (!(error instanceof AshlarError && error.kind === 'unavailable')) throw error
      return this.unreadable()
    }
    if (now === before) return undefined
    if (now === undefined)
      return new ServerError('Unauthenticated', 'The credential of the caller is not valid any more.')
    if (this.hasAllPermissions(now, before, alias)) return undefined
    return new AshlarError('Forbidden', `The caller has lost a right on the federated database ${alias}.`)
  }

  /** Cached, since callers are immutable: after a change of permissions, `now` is another object. */
  private hasAllPermissions(now: Caller, before: Caller, alias: string): boolean {
    let verdicts = this.verdicts.get(before)
    if (verdicts?.now !== now) {
      verdicts = { now, byAlias: new Map() }
      this.verdicts.set(before, verdicts)
    }
    let verdict = verdicts.byAlias.get(alias)
    if (verdict === undefined) {
      verdict = hasAll(now, before, alias)
      verdicts.byAlias.set(alias, verdict)
    }
    return verdict
  }

  /** Returns undefined while callers have been unreadable only briefly; the next read may succeed. */
  private unreadable(): Error | undefined {
    try {
      this.callers.checkReadable()
      return undefined
    } catch (unreadable) {
      return unreadable as Error
    }
  }
}

/** Returns false also if the roles have too many grants together. */
function hasAll(now: Caller, before: Caller, alias: string): boolean {
  try {
    return mayStill(now, before, alias)
  } catch (error) {
    if (error instanceof AshlarError && error.type === 'Forbidden') return false
    throw error
  }
}
