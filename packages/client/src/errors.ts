/** A request that the server refused. */
import type { Problem } from './wire.ts'

export class AshlarRequestError extends Error {
  /** HTTP status. */
  readonly status: number
  /** A stable word, such as UniqueViolation; `Unknown` where something between did not pass on the server's body. */
  readonly type: string
  /** Where in the request body the faults are (JSON pointers). */
  readonly errors: NonNullable<Problem['errors']>

  constructor(status: number, problem: Partial<Problem>) {
    super(problem.message ?? `The request failed with status ${status}.`)
    this.name = 'AshlarRequestError'
    this.status = status
    this.type = problem.type ?? 'Unknown'
    this.errors = problem.errors ?? []
  }
}
