/** The errors thrown by a client: a refused request, an unreachable server, a time limit. */
import type { ErrorType } from './error-types.ts'
import type { FetchResponse } from './options.ts'
import type { Problem, ValuesLost } from './wire.ts'

/** The server refused the request. */
export class AshlarRequestError extends Error {
  /** HTTP status. */
  readonly status: number
  /** `Unknown` if the body is not from Ashlar, for example from a proxy. */
  readonly type: ErrorType | 'Unknown'
  /** The faults in the request body, with their places (JSON pointers). */
  readonly errors: NonNullable<Problem['errors']>
  /** For a query: the line of the fault, starting at 1. */
  readonly line: number | undefined
  /** For a query: the column of the fault, starting at 1. */
  readonly column: number | undefined
  /** For a query: the tokens allowed at that place. */
  readonly expected: readonly string[]
  /** For a transaction: the number of the failed operation, starting at 1. */
  readonly operation: number | undefined
  /** For a change of types: the values that would be lost. */
  readonly valuesLost: readonly ValuesLost[]
  /** For a change of constraints: the stored objects that violate them. */
  readonly violations: NonNullable<Problem['violations']>
  /** Time after which the server suggests a retry. */
  readonly retryAfterSeconds: number | undefined

  constructor(status: number, problem: Partial<Problem>, retryAfterSeconds?: number) {
    super(problem.message ?? `The request failed with status ${status}.`)
    this.name = 'AshlarRequestError'
    this.status = status
    this.type = problem.type ?? 'Unknown'
    this.errors = problem.errors ?? []
    this.line = problem.line
    this.column = problem.column
    this.expected = problem.expected ?? []
    this.operation = problem.operation
    this.valuesLost = problem.valuesLost ?? []
    this.violations = problem.violations ?? []
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** No server was reached, or the connection was lost. `cause` is the error of `fetch`. Errors of this class from a custom `fetch` allow a retry. */
export class AshlarConnectionError extends Error {
  /** The address of the server, `baseUrl`. */
  readonly url: string

  constructor(url: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'AshlarConnectionError'
    this.url = url
  }
}

/** The time limit `timeoutMs` of a call has passed. */
export class AshlarTimeoutError extends Error {
  /** The address of the server, `baseUrl`. */
  readonly url: string
  readonly timeoutMs: number

  constructor(url: string, timeoutMs: number, operation: string) {
    super(`${operation} at ${url} had no reply within ${timeoutMs} ms (timeoutMs).${mayBeDone(operation)}`)
    this.name = 'AshlarTimeoutError'
    this.url = url
    this.timeoutMs = timeoutMs
  }
}

/** `operation`: method and path. */
export function mayBeDone(operation: string): string {
  return operation.startsWith('GET ') ? '' : ' If the request changes data, the change may have been made.'
}

/** A refusal may come from a proxy, with any body. */
export async function readError(response: FetchResponse): Promise<AshlarRequestError> {
  const retryAfter = response.headers.get('retry-after')
  const seconds = retryAfter !== null && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined
  return new AshlarRequestError(response.status, readProblem(await response.text()), seconds)
}

function readProblem(text: string): Partial<Problem> {
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body === 'object' && body !== null && 'type' in body && typeof body.type === 'string')
      return body as Problem
  } catch {
    // The body is not JSON: the message is its text.
  }
  return text === '' ? {} : { message: text.slice(0, 200) }
}
