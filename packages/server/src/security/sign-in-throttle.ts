/** How often somebody may be wrong with a password: by user name and address together, and by each alone (contract 9.1.5). */
import { ServerError } from '../errors/server-errors.ts'
import { rightAddressesMax, rightAddressMsMax, signInFailures, throttledKeysMax } from '../limits.ts'
import { networkOf } from './network.ts'

interface Failures {
  count: number
  /** When the first of them is forgotten, by the clock that is given. */
  forgottenAtMs: number
}

/** One of them, counted as wrong until it is told to be something else. */
export interface Attempt {
  /** Whoever knows the password has not been guessing. */
  wasRight(): void
  /** Nothing was found out. */
  undo(): void
}

/** Counts attempts when they begin, so that many at once are no more than one after the other. */
export class SignInThrottle {
  private readonly now: () => number
  private readonly byKey = new Map<string, Failures>()
  /** Until when it counts that a name was right from an address. */
  private readonly rightUntil = new Map<string, number>()

  constructor(now: () => number = () => performance.now()) {
    this.now = now
  }

  /** For what is looked at without being counted. Throws TooManySignIns where the name has been wrong too often from there. */
  checkPair(name: string, address: string): void {
    this.check(pairKey(name, networkOf(address)), signInFailures.ofPairMax)
  }

  /** To be called before a password is looked at. Throws TooManySignIns. */
  begin(name: string, address: string): Attempt {
    const network = networkOf(address)
    const pair = pairKey(name, network)
    const [ofAddress, ofName] = [`address:${network}`, `name:${name}`]
    const wasRight = this.wasRightFrom(pair)
    const isGuessed = !wasRight && (this.current(ofName)?.count ?? 0) >= signInFailures.ofNameMax
    this.check(pair, isGuessed ? signInFailures.ofPairAfterNameMax : signInFailures.ofPairMax)
    // Many may share an address, as behind a proxy: whoever is wrong there is not to keep out those who sign in there.
    if (!wasRight) this.check(ofAddress, signInFailures.ofAddressMax)
    const all = [pair, ofAddress, ofName]
    for (const key of all) this.count(key)
    return {
      wasRight: () => {
        this.byKey.delete(pair)
        this.takeBack(ofAddress)
        this.takeBack(ofName)
        this.noteRight(pair)
      },
      undo: () => {
        for (const key of all) this.takeBack(key)
      },
    }
  }

  get size(): number {
    return this.byKey.size
  }

  private wasRightFrom(pair: string): boolean {
    return this.now() < (this.rightUntil.get(pair) ?? Number.NEGATIVE_INFINITY)
  }

  /** In the order in which it is forgotten. */
  private noteRight(pair: string): void {
    this.rightUntil.delete(pair)
    if (this.rightUntil.size >= rightAddressesMax) {
      for (const eldest of this.rightUntil.keys()) {
        this.rightUntil.delete(eldest)
        break
      }
    }
    this.rightUntil.set(pair, this.now() + rightAddressMsMax)
  }

  private check(key: string, max: number): void {
    const failures = this.current(key)
    if (failures === undefined || failures.count < max) return
    const seconds = Math.ceil((failures.forgottenAtMs - this.now()) / 1_000)
    throw new ServerError('TooManySignIns', `Too many wrong passwords; try again in ${seconds} s.`, {
      'retry-after': String(seconds),
    })
  }

  private count(key: string): void {
    const failures = this.current(key)
    if (failures !== undefined) {
      failures.count += 1
      return
    }
    if (this.byKey.size >= throttledKeysMax) this.forgetOldest()
    this.byKey.set(key, { count: 1, forgottenAtMs: this.now() + signInFailures.forgottenAfterMs })
  }

  private takeBack(key: string): void {
    const failures = this.byKey.get(key)
    if (failures === undefined) return
    failures.count -= 1
    if (failures.count <= 0) this.byKey.delete(key)
  }

  private current(key: string): Failures | undefined {
    const failures = this.byKey.get(key)
    if (failures === undefined || this.now() < failures.forgottenAtMs) return failures
    this.byKey.delete(key)
    return undefined
  }

  /** They are in the order of their beginnings: the oldest is the next to be forgotten anyway. */
  private forgetOldest(): void {
    for (const key of this.byKey.keys()) {
      this.byKey.delete(key)
      return
    }
  }
}

const pairKey = (name: string, network: string): string => `pair:${network}:${name}`
