/** Whether and when a request that failed is sent again. */
import { type ErrorType, errorTypes } from './error-types.ts'
import { AshlarRequestError } from './errors.ts'

const delayMsFirst = 500
const delayMsMax = 10_000
/** What something between client and server answers where it lost the server. */
const lostStatuses = [502, 503, 504]

/**
 * Milliseconds to wait before the request is sent again; undefined where it must not be. `isSafe`: sent twice it does no more
 * than once, because it only reads or has an Idempotency-Key; else it is sent again only where the server itself says that
 * nothing was done. `attempt`: how often it was sent again already.
 */
export function retryDelayMs(isSafe: boolean, error: unknown, attempt: number): number | undefined {
  if (!isRepeatable(isSafe, error)) return undefined
  const seconds = error instanceof AshlarRequestError ? error.retryAfterSeconds : undefined
  if (seconds !== undefined) return Math.min(seconds * 1_000, delayMsMax)
  // Those who failed together do not try together.
  return Math.min(delayMsFirst * 2 ** attempt, delayMsMax) * (0.5 + Math.random() / 2)
}

function isRepeatable(isSafe: boolean, error: unknown): boolean {
  if (error instanceof AshlarRequestError) {
    // Waiting does not help: somebody has to mend something first.
    if (error.type === 'StoreUnavailable' && error.retryAfterSeconds === undefined) return false
    if (isRepeatableType(error.type)) return true
    return (
      isSafe && (error.type === 'OutcomeUnknown' || (error.type === 'Unknown' && lostStatuses.includes(error.status)))
    )
  }
  // What fetch throws where the connection is lost, before the reply or amid it.
  return isSafe && error instanceof TypeError
}

/** Also of a server that is newer than this client, and answers with a type that is not known here. */
function isRepeatableType(type: string): boolean {
  return Object.hasOwn(errorTypes, type) && errorTypes[type as ErrorType].isRepeatable
}
