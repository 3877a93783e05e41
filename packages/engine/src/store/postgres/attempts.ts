/** Retries of operations that failed because of the database: how often, and for how long. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Failure } from './failures.ts'

/** Also without patience: a connection may have been lost while nobody used it, and so may the next. */
const attemptsMinDefault = 5
/** Deadlocks do not come from commits themselves, which lock in order, but may come from others in the database. */
const passingMax = 10
const delayMsMax = 250

export class Attempts {
  private readonly patienceMs: number
  private readonly attemptsMin: number
  private attempt = 0
  private end: number | undefined

  /** `patienceMs`: how long a database that cannot be used is waited for, from the first failure on. */
  constructor(patienceMs: number, attemptsMin = attemptsMinDefault) {
    this.patienceMs = patienceMs
    this.attemptsMin = attemptsMin
  }

  /** From now on, and for what waits itself: one attempt may take all the time there is. */
  static fromNow(patienceMs: number): Attempts {
    return Attempts.until(performance.now() + patienceMs)
  }

  /** As `fromNow`, for what has waited already. `end`: when it stops, by `performance.now()`. */
  static until(end: number): Attempts {
    const attempts = new Attempts(0, 1)
    attempts.end = end
    return attempts
  }

  /** Whether what failed so is worth another attempt; resolves when it is time for it. */
  async another(failure: Failure): Promise<boolean> {
    this.attempt++
    this.end ??= performance.now() + this.patienceMs
    if (failure === 'refused' || failure === 'unavailable') return false
    if (failure === 'passing' && this.attempt >= passingMax) return false
    if (failure !== 'passing' && this.attempt >= this.attemptsMin && performance.now() >= this.end) return false
    await pause(this.attempt)
    return true
  }
}

/** Longer from attempt to attempt, and each time another, so that those who failed together do not try together. */
export async function pause(attempt: number): Promise<void> {
  await delay(Math.random() * Math.min(delayMsMax, 2 ** attempt))
}
