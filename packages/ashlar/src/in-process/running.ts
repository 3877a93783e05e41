/** Calls in progress: their time limits, their errors, and the life of the process while they run. */

import type { CallOptions } from '@ashlar/client'
import { AshlarConnectionError, AshlarTimeoutError, checkTimeout, untilAborted } from '@ashlar/client/in-process'
import type { Awaitable } from '@ashlar/engine'
import { requestError } from './request-error.ts'

const timerMsMax = 2 ** 31 - 1

export interface Call {
  /** As a server would log it; for messages. */
  readonly operation: string
  /** Places of errors are those in the body of the request. */
  readonly hasBody: boolean
}

export class Running {
  readonly address: string
  private readonly timeoutMs: number | undefined
  private readonly closing = new AbortController()
  private count = 0
  private timer: NodeJS.Timeout | undefined

  constructor(address: string, timeoutMs: number | undefined) {
    checkTimeout(timeoutMs)
    this.address = address
    this.timeoutMs = timeoutMs
  }

  /** Whether a call needs no more than its result: no signal, and no time limit. Throws AshlarConnectionError. */
  isPlain({ signal, timeoutMs = this.timeoutMs }: CallOptions): boolean {
    this.refuseIfClosed()
    return signal === undefined && timeoutMs === undefined
  }

  /** Runs a call until its end, the abortion of its signal, or its time limit. Throws the errors of a client. */
  async run<T>(call: Call, options: CallOptions, work: (signal: AbortSignal | undefined) => Awaitable<T>): Promise<T> {
    this.refuseIfClosed()
    const { signal, timeoutMs = this.timeoutMs } = options
    this.begin()
    try {
      if (timeoutMs === undefined) {
        signal?.throwIfAborted()
        const done = work(signal)
        return await (done instanceof Promise ? untilAborted(done, signal) : done)
      }
      return await this.runWithin(timeoutMs, call, signal, work)
    } catch (error) {
      throw requestError(error, call.hasBody)
    } finally {
      this.end()
    }
  }

  private async runWithin<T>(
    timeoutMs: number,
    { operation }: Call,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Awaitable<T>,
  ): Promise<T> {
    checkTimeout(timeoutMs)
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(new AshlarTimeoutError(this.address, timeoutMs, operation)), timeoutMs)
    const either = signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal])
    try {
      either.throwIfAborted()
      return await untilAborted(Promise.resolve(work(either)), either)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Yields what a source yields that has no end, until `signal` is aborted or the database is closed. Throws like `stream`. */
  async *follow<T>(
    signal: AbortSignal | undefined,
    source: (until: AbortSignal) => AsyncGenerator<T, void>,
  ): AsyncGenerator<T, never> {
    let until: AbortSignal | undefined
    yield* this.stream(signal, (one) => {
      until = one
      return source(one)
    })
    throw until?.reason
  }

  /** Yields what a source yields. Throws the errors of a client, the reason of `signal` when it is aborted, and AshlarConnectionError if the database is closed. */
  async *stream<T>(
    signal: AbortSignal | undefined,
    source: (until: AbortSignal) => AsyncGenerator<T, void>,
  ): AsyncGenerator<T, void> {
    this.refuseIfClosed()
    const until = signal === undefined ? this.closing.signal : AbortSignal.any([signal, this.closing.signal])
    this.begin()
    try {
      until.throwIfAborted()
      yield* source(until)
    } catch (error) {
      throw requestError(error, true)
    } finally {
      this.end()
    }
  }

  close(): void {
    this.closing.abort(this.closed())
  }

  private refuseIfClosed(): void {
    if (this.closing.signal.aborted) throw this.closing.signal.reason
  }

  private closed(): AshlarConnectionError {
    return new AshlarConnectionError(this.address, `The database at ${this.address} has been closed.`)
  }

  /** Threads and timers of the engine do not keep the process alive, so that a program ends that does not close its database. */
  private begin(): void {
    if (this.count++ > 0) return
    this.timer ??= setInterval(() => undefined, timerMsMax)
    this.timer.ref()
  }

  private end(): void {
    if (--this.count === 0) this.timer?.unref()
  }
}
