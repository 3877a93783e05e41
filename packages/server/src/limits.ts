/** Every number that bounds something in the server, with its unit in its name (REST interface, section 1, Limits). */
import type { EngineLimits } from '@ashlar/engine'

export interface ServerLimits {
  /** A request body, after decompression. */
  readonly bodyBytesMax: number
  /** How deep arrays and objects of a body may be nested. */
  readonly jsonDepthMax: number
  readonly requestHeaderBytesMax: number
  /** How long requests under way may take to end, once the server is asked to stop. */
  readonly stopMsMax: number
  /** So many crashes of worker processes by native code within `workerCrashWindowMs` end the server. */
  readonly workerCrashesMax: number
  readonly workerCrashWindowMs: number
}

export const defaultServerLimits: ServerLimits = {
  bodyBytesMax: 64 * 2 ** 20,
  jsonDepthMax: 64,
  requestHeaderBytesMax: 16 * 2 ** 10,
  stopMsMax: 10_000,
  workerCrashesMax: 3,
  workerCrashWindowMs: 600_000,
}

export type Limits = ServerLimits & EngineLimits
