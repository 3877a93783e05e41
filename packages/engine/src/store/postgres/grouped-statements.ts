/** Combines requests that are made at the same time into few statements, each over one connection and without a transaction. */
import type { PoolClient } from 'pg'
import type { Awaitable } from '../store.ts'
import { Attempts } from './attempts.ts'
import type { Connections } from './connections.ts'
import { allInUse, failureOf, toStoreError } from './failures.ts'

/** A statement that runs longer no longer delays the next. */
const stalledMs = 250
/** Requests that expire within this time after a failed attempt are failed with it instead of retried. */
const endsTogetherMs = 250

export interface WaitingRequest {
  /** When the request stops waiting for a connection, by `performance.now()`. */
  readonly end: number
  reject(error: unknown): void
}

export interface RequestGrouping<R extends WaitingRequest> {
  /** The first requests, as many as fit one statement. */
  first(waiting: readonly R[]): readonly R[]
  /** Whether to send another statement while `active` ones run, instead of letting requests gather. */
  mayAdd(active: number, waiting: number): boolean
  /** Reads for the requests over the connection. Returns the function that answers them. */
  read(client: PoolClient, requests: readonly R[]): Promise<() => Awaitable<void>>
}

export class GroupedStatements<R extends WaitingRequest> {
  private readonly connections: Connections
  private readonly kind: RequestGrouping<R>
  private waiting: R[] = []
  private gathering: NodeJS.Immediate | undefined
  private timer: NodeJS.Timeout | undefined
  private active = 0
  private stalled = 0
  /** Increased when statements in progress are counted as stalled. */
  private generation = 0
  private answered = 0

  constructor(connections: Connections, kind: RequestGrouping<R>) {
    this.connections = connections
    this.kind = kind
  }

  /** When a request that is made now stops waiting. */
  endOfPatience(): number {
    return performance.now() + this.connections.address.patienceMs
  }

  /** Requests of one event loop turn share a statement. */
  add(request: R): void {
    this.waiting.push(request)
    this.gathering ??= setImmediate(() => {
      this.gathering = undefined
      this.sendSome()
    })
  }

  private sendSome(): void {
    while (this.waiting.length > 0 && (this.active === 0 || this.kind.mayAdd(this.active, this.waiting.length))) {
      void this.send()
    }
    if (this.waiting.length > 0) this.timer ??= this.expectAnswer()
  }

  /** Sends waiting requests after a while, also if no statement was answered meanwhile. */
  private expectAnswer(): NodeJS.Timeout {
    const { answered } = this
    return setTimeout(() => {
      this.timer = undefined
      if (answered === this.answered && this.stalled < this.connections.address.connections / 2) {
        this.stalled += this.active
        this.active = 0
        this.generation++
      }
      this.rejectUntil(performance.now(), allInUse(this.connections.address))
      this.sendSome()
    }, stalledMs)
  }

  private rejectUntil(end: number, error: unknown): void {
    const expired = this.waiting.filter((request) => request.end <= end)
    if (expired.length > 0) this.waiting = this.waiting.filter((request) => request.end > end)
    for (const request of expired) request.reject(error)
  }

  private async send(): Promise<void> {
    const { generation } = this
    const requests = this.kind.first(this.waiting)
    this.waiting = this.waiting.slice(requests.length)
    this.active++
    let answer: () => Awaitable<void>
    try {
      answer = await this.read(requests)
    } catch (error) {
      const now = performance.now()
      answer = () => {
        for (const request of requests) request.reject(error)
      }
      // Later requests are retried: their time limit is not over.
      if (requests.some(({ end }) => end <= now)) {
        answer = () => undefined
        this.waiting = [...requests, ...this.waiting]
        this.rejectUntil(now + endsTogetherMs, error)
      }
    }
    this.answered++
    if (generation === this.generation) this.active--
    else this.stalled--
    const answering = answer()
    this.sendSome()
    await answering
  }

  private async read(requests: readonly R[]): Promise<() => Awaitable<void>> {
    const { location, patienceMs } = this.connections.address
    const end = Math.min(...requests.map((request) => request.end))
    const attempts = new Attempts(patienceMs)
    for (;;) {
      let client: PoolClient | undefined
      try {
        client = await this.connections.reader(false, end)
        const answer = await this.kind.read(client, requests)
        client.release()
        return answer
      } catch (error) {
        client?.release(true)
        if (!(await attempts.another(failureOf(error)))) throw toStoreError(location, error)
      }
    }
  }
}
