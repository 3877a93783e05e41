/** How many requests a second each caller may send (contract 1.5.19). */
import { ServerError } from '../errors/server-errors.ts'
import { countedCallersMax } from '../limits.ts'
import { sharerOf } from '../shares/sharer.ts'
import type { HttpRequest } from './http-request.ts'
import { hasBody } from './identify.ts'

const secondMs = 1_000
/** Rounding error of sums of intervals, in milliseconds. */
const roundingMs = 1e-6

/**
 * A token bucket for each caller, filled within a second. It is enough to store when a bucket will be full: from then on, it is like a new one, and
 * is forgotten.
 */
export class RequestRates {
  private readonly perSecondMax: number
  private readonly intervalMs: number
  private readonly now: () => number
  /** When each will be full. */
  private fullAt = new Map<string, number>()
  /** Callers without requests for a while. */
  private fullAtBefore = new Map<string, number>()
  private begunAtMs: number

  constructor(perSecondMax: number, now: () => number = () => performance.now()) {
    this.perSecondMax = perSecondMax
    this.intervalMs = secondMs / perSecondMax
    this.now = now
    this.begunAtMs = now()
  }

  /** Throws TooManyRequests. */
  count(caller: string): void {
    const now = this.now()
    const isFull = this.fullAt.size >= countedCallersMax
    if (isFull || now - this.begunAtMs >= secondMs) {
      this.fullAtBefore = this.fullAt
      this.fullAt = new Map()
      this.begunAtMs = now
    }
    const fullAt = Math.max(now, this.fullAt.get(caller) ?? this.fullAtBefore.get(caller) ?? now)
    if (fullAt - now > secondMs - this.intervalMs + roundingMs) throw this.tooMany()
    this.fullAt.set(caller, fullAt + this.intervalMs)
  }

  get size(): number {
    return this.fullAt.size + this.fullAtBefore.size
  }

  private tooMany(): ServerError {
    const message = `The caller sends more than ${this.perSecondMax} requests a second (callerRequestsPerSecondMax).`
    return new ServerError('TooManyRequests', message)
  }
}

/** Returns a replacement for `done` that counts the request, by caller or, without one, by address. */
export function doneAfterCount(
  rates: RequestRates,
  request: HttpRequest,
  done: (error?: Error) => void,
): (error?: Error) => void {
  return (error) => {
    // Health checks are answered in any case.
    if (request.route?.path.startsWith('/health/') === true) return done(error)
    try {
      rates.count(sharerOf(request))
    } catch (tooMany) {
      if (hasBody(request)) request.endConnection()
      return done(tooMany as Error)
    }
    done(error)
  }
}
