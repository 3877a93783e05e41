/** Whether and when a refused request is sent again. */
import type { AshlarRequestError } from './errors.ts'

const delayMsDefault = 1_000
const delayMsMax = 10_000
/** A creation sent twice creates twice; every other operation ends the same. */
const repeatable = /^(GET|PUT|DELETE)$/

/**
 * Milliseconds to wait before the request is sent again; undefined where it must not be. Only for 503, and for POST only
 * when the server itself says that nothing was done: a 503 of something between tells nothing of the kind.
 */
export function retryDelayMs(method: string, error: AshlarRequestError): number | undefined {
  if (error.status !== 503) return undefined
  const isUndone = error.type === 'TransactionContention' || error.type === 'ShuttingDown'
  if (!isUndone && !repeatable.test(method)) return undefined
  const seconds = error.retryAfterSeconds
  return seconds === undefined ? delayMsDefault : Math.min(seconds * 1_000, delayMsMax)
}
