/** The problem of each error that is a reply and not a fault of the program. */
import { AshlarError } from '@ashlar/engine'
import { makeProblem, type Problem, type ProblemDetail, problemDetails } from './problem.ts'
import { BodyValidationError, LineFailure, OperationFailure } from './request-errors.ts'
import { problemEntry, ServerError } from './server-errors.ts'

/** Sent with replies after which the request may be repeated. */
export const retryAfterSeconds = 1

/** Undefined for an error that is not caused by a request. */
export function knownProblem(error: unknown): Problem | undefined {
  if (error instanceof AshlarError) {
    return withExtensions(makeProblem(error.type, error.message, problemDetails(error)), error)
  }
  if (error instanceof ServerError) return makeProblem(error.type, error.message)
  if (error instanceof BodyValidationError) return error.problem
  if (error instanceof OperationFailure) return problemOfOperation(error)
  if (!(error instanceof LineFailure)) return undefined
  const problem = knownProblem(error.cause)
  return problem && { ...problem, message: `Line ${error.line}: ${problem.message}`, line: error.line }
}

/** `cause`: the error itself, or that of the failed operation of a transaction. */
export function isRepeatable({ type }: Problem, cause: unknown): boolean {
  return problemEntry(type).isRepeatable && !(cause instanceof AshlarError && cause.isFatal)
}

/** Violations of constraints say more than their place, and are kept. */
export function withoutPlaces(problem: Problem): Problem {
  const { errors, ...rest } = problem
  return errors?.some(({ constraint }) => constraint !== undefined) === true ? problem : rest
}

function problemOfOperation({ operation, cause }: OperationFailure): Problem | undefined {
  const problem = knownProblem(cause)
  if (problem === undefined) return undefined
  const { errors } = problem
  return {
    ...problem,
    message: `While executing operation ${operation}, encountered: ${problem.message}`,
    ...(errors === undefined ? {} : { errors: withinOperation(operation, errors) }),
    operation,
  }
}

/** Prefixes locations in the body of an operation with the location of that body in the transaction. */
function withinOperation(operation: number, errors: readonly ProblemDetail[]): ProblemDetail[] {
  return errors.map((error) => ({ ...error, pointer: `/${operation - 1}/body${error.pointer}` }))
}

const standardMembers = ['type', 'title', 'status', 'message', 'errors']

function withExtensions(problem: Problem, { extensions }: AshlarError): Problem {
  const added = Object.entries(extensions).filter(([name]) => !standardMembers.includes(name))
  return added.length === 0 ? problem : { ...problem, ...Object.fromEntries(added) }
}
