/** Whose password is hashed next: a few at a time, one caller and one address after the other (contract 9.1.13). */
import { AshlarError } from '@ashlar/engine'
import { ServerError } from '../errors/server-errors.ts'
import {
  passwordHashesAtOnceMax,
  passwordHashesPerSharerMax,
  passwordHashesWaitingMax,
  passwordHashMsMax,
} from '../limits.ts'
import { ShareQueue, type Waiter } from '../shares/share-queue.ts'
import { sharerText } from '../shares/sharer.ts'

export interface Hasher extends Pick<Waiter, 'sharer' | 'signal'> {
  /** A caller who is known, or a user who has been right from the same address: separate from all others, who may be guessing. */
  readonly isKnown: boolean
}

/** Each hash takes 19 MiB and a thread of the pool; whoever waits takes next to nothing. */
export class PasswordPlaces {
  private underWay = 0
  private readonly known = newQueue()
  private readonly others = newQueue()
  private isKnownNext = false
  private isLeastWrongNext = false
  private readonly failuresOf: (sharer: string) => number

  /** `failuresOf`: how often passwords from there were wrong of late. */
  constructor(failuresOf: (sharer: string) => number) {
    this.failuresOf = failuresOf
  }

  /** Throws ServerBusy, TooManyRequests, and the signal's reason. */
  async hash<T>({ sharer, signal, isKnown }: Hasher, work: () => Promise<T>): Promise<T> {
    if (this.underWay >= passwordHashesAtOnceMax) {
      const waitsUntilMs = performance.now() + passwordHashMsMax
      await (isKnown ? this.known : this.others).wait({ sharer, signal, waitsUntilMs })
    } else this.underWay += 1
    try {
      return await work()
    } finally {
      // The place passes to the next.
      if (!this.letNextGo()) this.underWay -= 1
    }
  }

  private letNextGo(): boolean {
    this.isKnownNext = !this.isKnownNext
    return this.isKnownNext ? this.letKnownGo() || this.letOtherGo() : this.letOtherGo() || this.letKnownGo()
  }

  private letKnownGo(): boolean {
    return this.known.letGo(() => 0) !== undefined
  }

  /** In every other turn whoever has been wrong least: those who guess from many addresses keep nobody waiting who does not, and nobody waits for ever. */
  private letOtherGo(): boolean {
    this.isLeastWrongNext = !this.isLeastWrongNext
    return this.others.letGo(this.isLeastWrongNext ? this.failuresOf : () => 0) !== undefined
  }
}

function newQueue(): ShareQueue {
  const bounds = { waitingMax: passwordHashesWaitingMax, perSharerMax: passwordHashesPerSharerMax }
  return new ShareQueue(bounds, {
    full: () => busy(`The server already has ${passwordHashesWaitingMax} passwords waiting to be hashed, the maximum.`),
    shareFull: (sharer) => {
      const { whose, share } = sharerText(sharer)
      const message = `${whose} already has ${passwordHashesPerSharerMax} passwords waiting to be hashed, the share of ${share}.`
      return new ServerError('TooManyRequests', message)
    },
    tooLate: () => busy(`The password has waited ${passwordHashMsMax} ms to be hashed, the maximum.`),
  })
}

function busy(message: string): AshlarError {
  return new AshlarError('ServerBusy', message)
}
