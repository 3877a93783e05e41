/** Errors of the engine as a client throws them. */
import { AshlarRequestError } from '@ashlar/client/in-process'
import {
  isRepeatable,
  knownProblem,
  OperationFailure,
  retryAfterSeconds,
  withoutPlaces,
} from '@ashlar/server/in-process'

/** `hasBody`: places of errors are those in the body of a request. Returns other errors, such as the reason of a signal, as they are. */
export function requestError(error: unknown, hasBody: boolean): unknown {
  const known = knownProblem(error)
  if (known === undefined) return error
  const problem = (hasBody ? known : withoutPlaces(known)) as ConstructorParameters<typeof AshlarRequestError>[1]
  const cause = error instanceof OperationFailure ? error.cause : error
  const request = new AshlarRequestError(
    known.status,
    problem,
    isRepeatable(known, cause) ? retryAfterSeconds : undefined,
  )
  // A transaction is run again if its error follows from data that has changed meanwhile, which the engine checks.
  Object.defineProperty(request, 'cause', { value: error, configurable: true, writable: true })
  return request
}
