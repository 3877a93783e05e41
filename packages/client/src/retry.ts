/** Whether and when a failed request is sent again. */
import { repeatableTypes } from './error-types.ts'
import { AshlarConnectionError, AshlarRequestError } from './errors.ts'

const delayMsFirst = 500
const delayMsMax = 10_000
/** Statuses of a proxy that lost the server. */
const lostStatuses = [502, 503, 504]

/**
 * Milliseconds to wait before the request is sent again; undefined if it must not be. `isSafe`: sending it twice does no more than sending it once, since it
 * only reads or has an Idempotency-Key. Other requests are repeated only if the server itself says that nothing was done. `attempt`: the number of
 * repetitions so far.
 */
export function retryDelayMs(isSafe: boolean, error: unknown, attempt: number): number | undefined {
  if (!isRepeatable(isSafe, error)) return undefined
  const seconds = error instanceof AshlarRequestError ? error.retryAfterSeconds : undefined
  if (seconds !== undefined) return Math.min(seconds * 1_000, delayMsMax)
  // Clients that failed together do not all try again at the same time.
  return Math.min(delayMsFirst * 2 ** attempt, delayMsMax) * (0.5 + Math.random() / 2)
}

function isRepeatable(isSafe: boolean, error: unknown): boolean {
  if (error instanceof AshlarRequestError) {
    // Without Retry-After, the store stays unavailable until somebody repairs it.
    if (error.type === 'StoreUnavailable' && error.retryAfterSeconds === undefined) return false
    if (repeatableTypes.includes(error.type)) return true
    return (
      isSafe && (error.type === 'OutcomeUnknown' || (error.type === 'Unknown' && lostStatuses.includes(error.status)))
    )
  }
  return isSafe && connectionFailure(error) !== undefined
}

/**
 * `unreachable`: no connection was made. `lost`: it broke. `unknown`: one of the two, or the browser did not let the page have the reply: browsers hide which.
 */
export type ConnectionFailure = 'unreachable' | 'lost' | 'unknown'

/** What Chromium, Firefox and Safari say, in this order. */
const unknownFailures = /^(Failed to fetch|NetworkError when attempting|Load failed)/
/** What Node says before and during the reply, and what Chromium and Firefox say during it. */
const lostConnections = /^(fetch failed|terminated|network error|Error in (body|input) stream)/
/** A `fetch failed` of Node with another code could not connect. */
const lostCodes = /^(ECONNRESET|EPIPE|UND_ERR_\w+)$/

/** Undefined for anything else, such as the TypeError for an invalid argument of fetch: sending it again would not help. */
export function connectionFailure(error: unknown): ConnectionFailure | undefined {
  if (error instanceof AshlarConnectionError) return connectionFailure(error.cause) ?? 'lost'
  if (!(error instanceof TypeError)) return undefined
  if (unknownFailures.test(error.message)) return 'unknown'
  if (!lostConnections.test(error.message)) return undefined
  const code = failureCode(error)
  return code === undefined || lostCodes.test(code) ? 'lost' : 'unreachable'
}

/** Such as ECONNREFUSED; browsers have none. */
export function failureCode({ cause }: Error): string | undefined {
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : undefined
}
