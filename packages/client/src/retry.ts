/** Whether and when a refused request is sent again. */
import { repeatableTypes } from './error-types.ts'
import type { AshlarRequestError } from './errors.ts'

const delayMsDefault = 1_000
const delayMsMax = 10_000
/** Sent twice, they do no more than once. Of a DELETE that is not so: the second may find a newer index of the same name. */
const safe = /^(GET|HEAD)$/

/**
 * Milliseconds to wait before the request is sent again; undefined where it must not be. What may change something is sent
 * again only where the server itself says that nothing was done: a 503 of something between tells nothing of the kind.
 */
export function retryDelayMs(method: string, error: AshlarRequestError): number | undefined {
  if (!repeatableTypes.includes(error.type) && !(safe.test(method) && error.status === 503)) return undefined
  const seconds = error.retryAfterSeconds
  return seconds === undefined ? delayMsDefault : Math.min(seconds * 1_000, delayMsMax)
}
