/** What a generator of load is asked to do, and what it tells afterwards. */

export interface BenchRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  /** JSON, or of `contentType`. */
  readonly body?: string
  /** Sockets of Node send it, wrk does not. */
  readonly contentType?: string
  /** The media type asked for, where the server has several. */
  readonly accept?: string
  /** The header of that name; sockets of Node send it, wrk does not. */
  readonly authorization?: string
}

/** Requests by so many connections, each of which sends its next one when the last is answered. */
export interface Load {
  readonly url: string
  readonly connections: number
  readonly requests: readonly BenchRequest[]
  /** Each request is sent at most once, and the load ends when all are answered; else they are sent in a circle. */
  readonly isOnce: boolean
  /** It ends by then in any case. */
  readonly seconds: number
}

export interface LoadResult {
  /** Answered with 2xx. */
  readonly answered: number
  /** Answered otherwise, or not at all. */
  readonly refused: number
  /** From the first request to the last answer. */
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface Generator {
  readonly name: string
  run(load: Load): Promise<LoadResult>
  close(): Promise<void>
}
