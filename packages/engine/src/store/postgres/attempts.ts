/** Retries of operations that failed because of the database: number and duration. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Failure } from './failures.ts'

/** Even without patience: idle connections may have been lost unnoticed, several in a row. */
const attemptsMinDefault = 5
/** Commits lock in order and cause no deadlocks, but other clients of the database may. */
const passingMax = 10
const delayMsMax = 250

export class Attempts {
  private readonly patienceMs: number
  private readonly attemptsMin: number
  private attempt = 0
  private end: number | undefined

  /** `patienceMs`: how long to wait for an unusable database, from the first failure on. */
  constructor(patienceMs: number, attemptsMin = attemptsMinDefault) {
    this.patienceMs = patienceMs
    this.attemptsMin = attemptsMin
  }

  /** Counts patience from now, for operations that wait themselves: one attempt may use all of it. */
  static fromNow(patienceMs: number): Attempts {
    return Attempts.until(performance.now() + patienceMs)
  }

  /** Like `fromNow`, for an operation that has already waited. `end`: its end, by `performance.now()`. */
  static until(end: number): Attempts {
    const attempts = new Attempts(0, 1)
    attempts.end = end
    return attempts
  }

  /** Whether to retry after the failure; resolves when the retry is due. */
  async another(failure: Failure): Promise<boolean> {
    this.attempt++
    this.end ??= performance.now() + this.patienceMs
    if (failure === 'refused' || failure === 'unavailable') return false
    if (failure === 'passing' && this.attempt >= passingMax) return false
    if (failure !== 'passing' && this.attempt >= this.attemptsMin && performance.now() >= this.end) return false
    await delayBeforeAttempt(this.attempt)
    return true
  }
}

/** Grows with each attempt, and is random, so that operations that failed together do not retry together. */
export async function delayBeforeAttempt(attempt: number): Promise<void> {
  await delay(Math.random() * Math.min(delayMsMax, 2 ** attempt))
}
