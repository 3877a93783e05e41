/** Schedules the hashing of passwords: a few at a time, round-robin over callers and addresses (contract 9.1.13). */
import { AshlarError } from '@ashlar/engine'
import { ServerError } from '../errors/server-errors.ts'
import {
  concurrentPasswordHashesMax,
  passwordHashesPerSharerMax,
  passwordHashesWaitingMax,
  passwordHashMsMax,
} from '../limits.ts'
import { ShareQueue, type Waiter } from '../shares/share-queue.ts'
import { sharerText } from '../shares/sharer.ts'

export interface Hasher extends Pick<Waiter, 'sharer' | 'signal'> {
  /** An authenticated caller, or a user who has signed in from the same address before. The rest, who may be guessing, have a separate queue. */
  readonly isTrusted: boolean
}

/** Each hash needs 19 MiB and a thread of the pool; waiting requests need hardly any memory. */
export class PasswordPlaces {
  private inProgress = 0
  private readonly trusted = newQueue()
  private readonly others = newQueue()
  private isTrustedNext = false
  private isLeastWrongNext = false
  private readonly failuresOf: (sharer: string) => number

  /** `failuresOf`: the number of recent wrong passwords of a sharer. */
  constructor(failuresOf: (sharer: string) => number) {
    this.failuresOf = failuresOf
  }

  /** Throws ServerBusy, TooManyRequests, and the signal's reason. */
  async hash<T>({ sharer, signal, isTrusted }: Hasher, work: () => Promise<T>): Promise<T> {
    if (this.inProgress >= concurrentPasswordHashesMax) {
      const waitsUntilMs = performance.now() + passwordHashMsMax
      await (isTrusted ? this.trusted : this.others).wait({ sharer, signal, waitsUntilMs })
    } else this.inProgress += 1
    try {
      return await work()
    } finally {
      // The place passes to the next.
      if (!this.passOn()) this.inProgress -= 1
    }
  }

  private passOn(): boolean {
    this.isTrustedNext = !this.isTrustedNext
    return this.isTrustedNext ? this.admitTrusted() || this.admitOther() : this.admitOther() || this.admitTrusted()
  }

  private admitTrusted(): boolean {
    return this.trusted.admitNext(() => 0) !== undefined
  }

  /**
   * Alternates between the sharer with the fewest recent failures, so that guessing from many addresses does not delay honest users, and plain
   * round-robin, so that none starves.
   */
  private admitOther(): boolean {
    this.isLeastWrongNext = !this.isLeastWrongNext
    return this.others.admitNext(this.isLeastWrongNext ? this.failuresOf : () => 0) !== undefined
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
