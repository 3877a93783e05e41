/** A request that the server refused. */
import type { ErrorType } from './error-types.ts'
import type { FetchResponse } from './options.ts'
import type { Problem, ValuesLost } from './wire.ts'

export class AshlarRequestError extends Error {
  /** HTTP status. */
  readonly status: number
  /** `Unknown` where something between did not pass on the server's body. */
  readonly type: ErrorType | 'Unknown'
  /** Where in the request body the faults are (JSON pointers). */
  readonly errors: NonNullable<Problem['errors']>
  /** Of a query: where in its text the fault is, from 1. */
  readonly line: number | undefined
  readonly column: number | undefined
  /** Of a query: what could have stood there. */
  readonly expected: readonly string[]
  /** Of a transaction: which operation failed, from 1. */
  readonly operation: number | undefined
  /** Of a change of types: what would be lost. */
  readonly valuesLost: readonly ValuesLost[]
  /** How long the server asks to wait, where it does. */
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
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Takes whatever body a refusal has: one of a proxy need not be ours. */
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
    // Not JSON: told as text below.
  }
  return text === '' ? {} : { message: text.slice(0, 200) }
}
