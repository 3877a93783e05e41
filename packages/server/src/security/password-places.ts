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
    const queues = this.isKnownNext ? [this.known, this.others] : [this.others, this.known]
    return queues.some((queue) => queue.letGo(() => 0) !== undefined)
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
