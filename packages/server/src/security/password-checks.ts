/** Whether a user name and a password belong together: as quickly, and with the same answer, for names that nobody has (contract 9.1). */
import type { CancelSignal } from '@ashlar/engine'
import { passwordCharactersMax } from '../limits.ts'
import { sharerAt } from '../shares/sharer.ts'
import type { KnownCallers } from './known-callers.ts'
import type { PasswordHashes } from './password-hashes.ts'
import { identityOfUser, type KnownUser } from './read-callers.ts'
import { nameForm } from './roles.ts'
import type { SignInThrottle } from './sign-in-throttle.ts'

export class PasswordChecks {
  readonly hashes: PasswordHashes
  private readonly callers: KnownCallers
  private readonly throttle: SignInThrottle

  constructor(callers: KnownCallers, hashes: PasswordHashes, throttle: SignInThrottle) {
    this.callers = callers
    this.hashes = hashes
    this.throttle = throttle
  }

  /** Undefined if they do not match. `signal`: ends the wait. Throws TooManySignIns, TooManyRequests, ServerBusy, StoreUnavailable. */
  async check(name: string, password: string, address: string, signal?: CancelSignal): Promise<KnownUser | undefined> {
    // All invalid names count as one, so that they do not get a count each.
    const wanted = nameForm.test(name) ? name : ''
    // A longer text is no password, and must not increase the work.
    const shown = password.slice(0, passwordCharactersMax + 1)
    // First: otherwise, the error for a throttled address would reveal a correct guess.
    this.throttle.checkPair(wanted, address)
    const hash = this.hashes.rightFor(wanted, shown, address)
    if (hash !== undefined) {
      const known = await this.callers.user(wanted)
      if (known?.passwordHash === hash) return known
    }
    const isKnown = this.throttle.wasRight(wanted, address)
    const hasher = { sharer: isKnown ? identityOfUser(wanted) : sharerAt(address), signal, isKnown }
    const attempt = this.throttle.begin(wanted, address)
    try {
      // Not as remembered: that would take less time for names that are there.
      const known = await this.callers.userAsStored(wanted)
      const isRight = await this.hashes.isRight(wanted, known?.passwordHash, shown, address, hasher)
      if (!isRight) return undefined
      attempt.wasRight()
      return known
    } catch (error) {
      attempt.undo()
      throw error
    }
  }

  /** Counts a change of a user's own password, before it is made. `max`: changes per hour. Returns a function that undoes the count. Throws TooManyRequests. */
  beginChange(name: string, max: number): () => void {
    return this.throttle.beginChange(name, max)
  }
}
