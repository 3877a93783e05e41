/** Whether and when a failed request is sent again. */
import { repeatableTypes } from './error-types.ts'
import { AshlarConnectionError, AshlarRequestError } from './errors.ts'

const delayMsFirst = 500
const delayMsMax = 10_000
/** Statuses of a proxy that has lost the server. */
const lostStatuses = [502, 503, 504]

/**
 * Returns the delay in milliseconds before a retry; undefined if the request must not be retried. `isSafe`: the request is idempotent, since it only
 * reads or has an Idempotency-Key. Other requests are retried only if the server states that nothing was done. `attempt`: the number of retries so
 * far.
 */
export function retryDelayMs(isSafe: boolean, error: unknown, attempt: number): number | undefined {
  if (!isRepeatable(isSafe, error)) return undefined
  const seconds = error instanceof AshlarRequestError ? error.retryAfterSeconds : undefined
  if (seconds !== undefined) return Math.min(seconds * 1_000, delayMsMax)
  // Jitter spreads the retries of clients that failed together.
  return Math.min(delayMsFirst * 2 ** attempt, delayMsMax) * (0.5 + Math.random() / 2)
}

function isRepeatable(isSafe: boolean, error: unknown): boolean {
  if (error instanceof AshlarRequestError) {
    // Without Retry-After, the store stays unavailable until an operator repairs it.
    if (error.type === 'StoreUnavailable' && error.retryAfterSeconds === undefined) return false
    if (repeatableTypes.includes(error.type)) return true
    return (
      isSafe && (error.type === 'OutcomeUnknown' || (error.type === 'Unknown' && lostStatuses.includes(error.status)))
    )
  }
  return isSafe && connectionFailure(error) !== undefined
}

/** `unreachable`: no connection was made. `lost`: it broke. `unknown`: one of both, or a withheld reply, since browsers hide which. */
export type ConnectionFailure = 'unreachable' | 'lost' | 'unknown'

/** Messages of Chromium, Firefox and Safari. */
const unknownFailures = /^(Failed to fetch|NetworkError when attempting|Load failed)/
/** Messages of Node before and during the reply, and of Chromium and Firefox during it. */
const lostConnections = /^(fetch failed|terminated|network error|Error in (body|input) stream)/
/** Codes of a `fetch failed` in Node with a lost connection; other codes mean that it was not made. */
const lostCodes = /^(ECONNRESET|EPIPE|UND_ERR_\w+)$/

/** Returns undefined for any other error, such as the TypeError for an invalid argument of fetch, for which a retry would not help. */
export function connectionFailure(error: unknown): ConnectionFailure | undefined {
  if (error instanceof AshlarConnectionError) return connectionFailure(error.cause) ?? 'lost'
  if (!(error instanceof TypeError)) return undefined
  if (unknownFailures.test(error.message)) return 'unknown'
  if (!lostConnections.test(error.message)) return undefined
  const code = failureCode(error)
  return code === undefined || lostCodes.test(code) ? 'lost' : 'unreachable'
}

/** Returns a code such as ECONNREFUSED; undefined in browsers. */
export function failureCode({ cause }: Error): string | undefined {
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : undefined
}
