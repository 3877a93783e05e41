/** Limits wrong passwords per user name and address, per user name, and per address (contract 9.1.5), and password changes (9.1.13). */
import { ServerError } from '../errors/server-errors.ts'
import { rightAddressesMax, rightAddressMsMax, signInFailures } from '../limits.ts'
import { networkOf } from '../shares/client-address.ts'
import { sharerAt } from '../shares/sharer.ts'
import { RecentCounts } from './recent-counts.ts'
import { setYoungest } from './set-youngest.ts'

/** An attempt, counted as a failure until its outcome is known. */
export interface Attempt {
  /** Call for a correct password: the attempt no longer counts. */
  wasRight(): void
  undo(): void
}

/** Counts attempts when they begin, so that concurrent ones are included. */
export class SignInThrottle {
  private readonly now: () => number
  private readonly failures: RecentCounts
  private readonly changes: RecentCounts
  /** By name and network: the time until which a correct password there is remembered. */
  private readonly rightUntil = new Map<string, number>()

  constructor(now: () => number = () => performance.now()) {
    this.now = now
    this.failures = new RecentCounts(signInFailures.windowMs, now)
    this.changes = new RecentCounts(hourMs, now)
  }

  /** Checks without counting. Throws TooManySignIns after too many failures of the name from the address. */
  checkPair(name: string, address: string): void {
    this.check(pairKey(name, networkOf(address)), signInFailures.pairMax)
  }

  /** Call before verifying a password. Throws TooManySignIns. */
  begin(name: string, address: string): Attempt {
    const network = networkOf(address)
    const pair = pairKey(name, network)
    const [addressKey, nameKey] = [sharerAt(address), `name:${name}`]
    const wasRight = this.wasRight(name, address)
    const isGuessed = !wasRight && this.failures.of(nameKey) >= signInFailures.nameMax
    this.check(pair, isGuessed ? signInFailures.pairAfterNameMax : signInFailures.pairMax)
    // Many users may share an address, e.g. behind a proxy: failures there must not lock out users with correct passwords.
    if (!wasRight) this.check(addressKey, signInFailures.addressMax)
    const all = [pair, addressKey, nameKey]
    for (const key of all) this.failures.add(key)
    return {
      wasRight: () => {
        this.failures.forget(pair)
        this.failures.takeBack(addressKey)
        this.failures.takeBack(nameKey)
        setYoungest(this.rightUntil, pair, this.now() + rightAddressMsMax, rightAddressesMax)
      },
      undo: () => {
        for (const key of all) this.failures.takeBack(key)
      },
    }
  }

  /** Counts a password change when it begins. Returns a function that undoes the count. Throws TooManyRequests. */
  beginChange(name: string, max: number): () => void {
    if (this.changes.of(name) >= max) {
      const message = `The password of ${name} was changed ${max} times within an hour, the maximum for one user (passwordChangesPerHourMax)`
      throw rateError('TooManyRequests', message, this.changes.secondsLeft(name))
    }
    this.changes.add(name)
    return () => this.changes.takeBack(name)
  }

  /** Whether the user has recently signed in from this address. */
  wasRight(name: string, address: string): boolean {
    return this.now() < (this.rightUntil.get(pairKey(name, networkOf(address))) ?? Number.NEGATIVE_INFINITY)
  }

  /** Returns the failures of an address, as identified by `sharerAt`. */
  failuresFrom(sharer: string): number {
    return this.failures.of(sharer)
  }

  get size(): number {
    return this.failures.size
  }

  private check(key: string, max: number): void {
    if (this.failures.of(key) < max) return
    throw rateError('TooManySignIns', 'Too many wrong passwords', this.failures.secondsLeft(key))
  }
}

function rateError(type: 'TooManySignIns' | 'TooManyRequests', what: string, seconds: number): ServerError {
  return new ServerError(type, `${what}; try again in ${seconds} s.`, { 'retry-after': String(seconds) })
}

const hourMs = 3_600_000

const pairKey = (name: string, network: string): string => `pair:${network}:${name}`
