/** Verifies user names and passwords: with the same duration and result for unknown names (contract 9.1). */
import type { CancelSignal } from '@ashlar/engine'
import { passwordCharactersMax } from '../limits.ts'
import { sharerAt } from '../shares/sharer.ts'
import type { CachedCallers } from './known-callers.ts'
import type { PasswordHashes } from './password-hashes.ts'
import { type CachedUser, identityOfUser } from './read-callers.ts'
import { nameForm } from './roles.ts'
import type { SignInThrottle } from './sign-in-throttle.ts'

export class PasswordChecks {
  readonly hashes: PasswordHashes
  private readonly callers: CachedCallers
  private readonly throttle: SignInThrottle

  constructor(callers: CachedCallers, hashes: PasswordHashes, throttle: SignInThrottle) {
    this.callers = callers
    this.hashes = hashes
    this.throttle = throttle
  }

  /** Undefined if they do not match. `signal`: ends the wait. Throws TooManySignIns, TooManyRequests, ServerBusy, StoreUnavailable. */
  async check(name: string, password: string, address: string, signal?: CancelSignal): Promise<CachedUser | undefined> {
    // All invalid names count as one, so that they do not get a count each.
    const userName = nameForm.test(name) ? name : ''
    // A longer text is not a password, and must not increase the work.
    const truncated = password.slice(0, passwordCharactersMax + 1)
    // First: otherwise, the error for a throttled address would reveal a correct guess.
    this.throttle.checkPair(userName, address)
    const hash = this.hashes.rightFor(userName, truncated, address)
    if (hash !== undefined) {
      const user = await this.callers.user(userName)
      if (user?.passwordHash === hash) return user
    }
    const isTrusted = this.throttle.wasRight(userName, address)
    const hasher = { sharer: isTrusted ? identityOfUser(userName) : sharerAt(address), signal, isTrusted }
    const attempt = this.throttle.begin(userName, address)
    try {
      // Not from the cache, which would take less time for existing names.
      const user = await this.callers.userAsStored(userName)
      const isRight = await this.hashes.isRight(userName, user?.passwordHash, truncated, address, hasher)
      if (!isRight) return undefined
      attempt.wasRight()
      return user
    } catch (error) {
      attempt.undo()
      throw error
    }
  }

  /** Counts a change of a user's own password in advance. `max`: per hour. Returns a function that undoes the count. Throws TooManyRequests. */
  beginChange(name: string, max: number): () => void {
    return this.throttle.beginChange(name, max)
  }
}
