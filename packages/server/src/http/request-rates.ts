/** Limits the requests per second of each caller (contract 1.5.19). */
import { ServerError } from '../errors/server-errors.ts'
import { countedCallersMax } from '../limits.ts'
import { sharerOf } from '../shares/sharer.ts'
import type { HttpRequest } from './http-request.ts'
import { hasBody } from './identify.ts'

const secondMs = 1_000
/** Rounding error of sums of intervals, in milliseconds. */
const roundingMs = 1e-6

/** Token buckets of callers, refilled within a second. Stores when each bucket will be full; a full bucket is removed. */
export class RequestRates {
  private readonly perSecondMax: number
  private readonly intervalMs: number
  private readonly now: () => number
  /** The time at which each bucket will be full. */
  private fullAt = new Map<string, number>()
  /** Callers without requests for a while. */
  private fullAtBefore = new Map<string, number>()
  private generationStartMs: number

  constructor(perSecondMax: number, now: () => number = () => performance.now()) {
    this.perSecondMax = perSecondMax
    this.intervalMs = secondMs / perSecondMax
    this.now = now
    this.generationStartMs = now()
  }

  /** Throws TooManyRequests. */
  count(caller: string): void {
    const now = this.now()
    const isFull = this.fullAt.size >= countedCallersMax
    if (isFull || now - this.generationStartMs >= secondMs) {
      this.fullAtBefore = this.fullAt
      this.fullAt = new Map()
      this.generationStartMs = now
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
    // Health checks are never limited.
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
