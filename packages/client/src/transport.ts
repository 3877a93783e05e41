/** Sends requests with headers, retries and time limits, and throws the client's errors. */
import { AshlarConnectionError, AshlarTimeoutError, mayBeDone, readError } from './errors.ts'
import { newIdempotencyKey } from './idempotency-key.ts'
import { parseExactly, reviveDates, stringifyBody } from './json.ts'
import type { CallOptions, ClientOptions, FetchBody, FetchInit, FetchResponse, FollowOptions } from './options.ts'
import { connectionFailure, failureCode, retryDelayMs } from './retry.ts'

/** Parameters of a URL; undefined ones are omitted. */
export type Parameters = Readonly<Record<string, string | number | boolean | undefined>>

/** A request, without its method and path. */
export interface Sending extends CallOptions {
  /** Sent as JSON. */
  readonly body?: unknown
  /** NDJSON: a text, or a stream that can be sent only once. */
  readonly lines?: string | ReadableStream<Uint8Array>
  readonly accept?: string
  /** Parameters of the URL besides `fdAlias`. */
  readonly parameters?: Parameters
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The Idempotency-Key of a change. Undefined: a new key for each change; false: no key. */
  readonly key?: string | false | undefined
}

const retriesDefault = 3
/** The maximum delay of a timer. */
const timeoutMsMax = 2 ** 31 - 1
const failuresMax = 10

export class Transport {
  readonly options: ClientOptions
  readonly baseUrl: string
  readonly parse: (text: string) => unknown
  private readonly send: (url: string, init: FetchInit) => Promise<FetchResponse>
  /** Until the server has replied once, its address may be wrong, for which a retry would not help. */
  private hasReplied = false

  /** Throws TypeError for an invalid `baseUrl`. */
  constructor(options: ClientOptions) {
    this.options = options
    this.baseUrl = checkedUrl(options.baseUrl)
    const { fetch: custom } = options
    // A browser's fetch must not be called as a method of another object.
    this.send = custom === undefined ? (url, init) => fetch(url, init) : (url, init) => custom(url, init)
    this.parse = options.integers === 'bigint' ? parseExactly : JSON.parse
    checkTimeout(options.timeoutMs)
  }

  /** Resolves with the JSON of the reply; undefined for 204. */
  request<T>(method: string, path: string, sending: Sending = {}): Promise<T> {
    return this.respond(method, path, sending, async (response) => {
      return response.status === 204 ? (undefined as T) : (this.parse(await response.text()) as T)
    })
  }

  /** `read`: reads the part of the reply that must arrive within the time limit and retries. */
  async respond<T>(
    method: string,
    path: string,
    sending: Sending,
    read: (response: FetchResponse) => Promise<T>,
  ): Promise<T> {
    const { signal, timeoutMs = this.options.timeoutMs } = sending
    if (timeoutMs === undefined) return this.attempts(method, path, sending, signal, read)
    checkTimeout(timeoutMs)
    const limit = new AbortController()
    const timer = setTimeout(
      () => limit.abort(new AshlarTimeoutError(this.baseUrl, timeoutMs, `${method} ${path}`)),
      timeoutMs,
    )
    try {
      const either = signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal])
      return await this.attempts(method, path, sending, either, read)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Returns the body of a streamed reply; the time limit ends when it begins. */
  open(method: string, path: string, sending: Sending): Promise<FetchBody> {
    return this.respond(method, path, sending, async ({ body }) =>
      this.named(body, `${method} ${path}`, sending.signal),
    )
  }

  /** Converts values of objects and rows according to the options of the client. */
  revive<T>(value: T): T {
    return this.options.dates === true ? (reviveDates(value) as T) : value
  }

  /**
   * Yields the values of `attempt`, which is repeated endlessly, also after failures. `attempt` calls `progress` when it has received something.
   * Throws errors other than connection failures, the reason of `signal`, and the failure of a server that has never replied.
   */
  async *repeat<T>(
    { signal, onLost }: FollowOptions,
    attempt: (progress: () => void) => AsyncGenerator<T, void>,
  ): AsyncGenerator<T, never> {
    for (let failures = 0; ; ) {
      try {
        yield* attempt(() => {
          failures = 0
        })
        signal?.throwIfAborted()
      } catch (error) {
        signal?.throwIfAborted()
        const isLate = error instanceof AshlarTimeoutError && this.hasReplied
        const failure = isLate ? new AshlarConnectionError(error.url, error.message) : error
        const delayMs = this.delayMs(true, failure, Math.min(failures++, failuresMax))
        if (delayMs === undefined) throw error
        onLost?.(error)
        await delayUnlessAborted(delayMs, signal)
      }
    }
  }

  private async attempts<T>(
    method: string,
    path: string,
    sending: Sending,
    signal: AbortSignal | undefined,
    read: (response: FetchResponse) => Promise<T>,
  ): Promise<T> {
    const { retriesMax = retriesDefault } = this.options
    const url = this.urlOf(path, sending.parameters)
    const key = this.keyFor(method, path, sending)
    const init = this.initOf(method, sending, key, signal)
    const isSafe = method === 'GET' || key !== undefined
    const repetitionsMax = typeof init.body === 'object' ? 0 : retriesMax
    for (let attempt = 0; ; attempt++) {
      try {
        signal?.throwIfAborted()
        const response = await this.send(url, init)
        this.hasReplied = true
        if (!response.ok) throw await readError(response)
        return await read(response)
      } catch (error) {
        signal?.throwIfAborted()
        const delayMs = attempt < repetitionsMax ? this.delayMs(isSafe, error, attempt) : undefined
        if (delayMs === undefined) throw this.explained(error, `${method} ${path}`, attempt + 1)
        await delayUnlessAborted(delayMs, signal)
      }
    }
  }

  private delayMs(isSafe: boolean, error: unknown, attempt: number): number | undefined {
    const failure = connectionFailure(error)
    const isWrongAddress = !this.hasReplied && (failure === 'unreachable' || failure === 'unknown')
    return isWrongAddress ? undefined : retryDelayMs(isSafe, error, attempt)
  }

  /** Adds the server and the operation to an error of fetch. */
  private explained(error: unknown, operation: string, attempts: number): unknown {
    const failure = connectionFailure(error)
    if (failure === undefined || error instanceof AshlarConnectionError) return error
    const cause = error as TypeError
    const { baseUrl } = this
    const why = failureCode(cause) ?? cause.message
    const tried = attempts === 1 ? '' : `, ${attempts} times`
    const message = {
      unreachable: `No server answers at ${baseUrl} (${why}${tried}): is it running, and is 'baseUrl' right?`,
      unknown: `The page got no reply from ${baseUrl} (${why}${tried}): no server answers there, or it was not started with --cors and the origin of the page. The console of the browser says which.`,
      lost: `The connection to ${baseUrl} was lost (${why}${tried}) during ${operation}.${mayBeDone(operation)}`,
    }[failure]
    return new AshlarConnectionError(baseUrl, message, { cause })
  }

  /** Wraps a body to throw the client's errors. */
  private named(body: FetchBody | null, operation: string, signal: AbortSignal | undefined): FetchBody {
    return {
      getReader: () => {
        const reader = body?.getReader()
        return {
          read: async () => {
            try {
              return (await reader?.read()) ?? { done: true }
            } catch (error) {
              signal?.throwIfAborted()
              throw this.explained(error, operation, 1)
            }
          },
          cancel: async () => reader?.cancel(),
        }
      },
    }
  }

  private urlOf(path: string, parameters: Parameters = {}): string {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries({ fdAlias: this.options.fdAlias, ...parameters }))
      if (value !== undefined) query.set(name, String(value))
    return `${this.baseUrl}${path}${query.size === 0 ? '' : `?${query}`}`
  }

  private initOf(
    method: string,
    { body, lines, accept, headers }: Sending,
    key: string | undefined,
    signal: AbortSignal | undefined,
  ): FetchInit {
    const authorization = this.authorization()
    const sent = lines ?? (body === undefined ? undefined : stringifyBody(body))
    return {
      method,
      headers: {
        accept: accept ?? 'application/json',
        ...(sent !== undefined && {
          'content-type': lines === undefined ? 'application/json' : 'application/x-ndjson',
        }),
        ...(authorization !== undefined && { authorization }),
        ...(key !== undefined && { 'idempotency-key': key }),
        ...headers,
      },
      // Sends the session cookie also if the page has another origin than the server. Node has no cookies.
      ...(authorization === undefined && { credentials: 'include' as const }),
      ...(sent !== undefined && { body: sent }),
      ...(typeof sent === 'object' && { duplex: 'half' as const }),
      ...(signal !== undefined && { signal }),
    }
  }

  private authorization(): string | undefined {
    const { token, user } = this.options
    if (token !== undefined) return `Bearer ${token}`
    return user && `Basic ${base64(`${user.name}:${user.password}`)}`
  }

  private keyFor(method: string, path: string, { key, lines }: Sending): string | undefined {
    // Keys belong to a federated database and identify a whole request.
    const isWithout = key === false || method === 'GET' || lines !== undefined || path === '/v1/shutdown'
    if (isWithout || path.startsWith('/v1/security/')) return undefined
    if (key !== undefined) return key
    return this.options.areChangesKeyed === false ? undefined : newIdempotencyKey()
  }
}

function checkedUrl(baseUrl: string): string {
  const example = 'for example http://127.0.0.1:8185'
  if (!/^https?:\/\//i.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new TypeError(
      `baseUrl '${baseUrl}' is not the address of a server: it begins with http:// or https://, ${example}.`,
    )
  }
  const { username, password, search, hash } = new URL(baseUrl)
  if (username !== '' || password !== '') {
    throw new TypeError(
      `baseUrl holds a user name or a password: give them as 'user', and the address alone, ${example}.`,
    )
  }
  if (search !== '' || hash !== '') throw new TypeError(`baseUrl '${baseUrl}' ends with its path, ${example}.`)
  return baseUrl.replace(/\/$/, '')
}

/** Throws RangeError. */
export function checkTimeout(timeoutMs: number | undefined): void {
  if (timeoutMs === undefined || (timeoutMs > 0 && timeoutMs <= timeoutMsMax)) return
  throw new RangeError(`timeoutMs is ${timeoutMs}: it must be above 0 and at most ${timeoutMsMax}.`)
}

/** Throws the reason of the signal when it is aborted. */
export function delayUnlessAborted(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, ms)
    signal?.addEventListener('abort', end, { once: true })
    if (signal?.aborted === true) end()
  })
}

/** Rejects with the reason of the signal when it is aborted. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    const end = (): void => reject(signal.reason)
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}

/** Encodes the UTF-8 of a text. */
function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)))
}
