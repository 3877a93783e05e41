/** The options of `open`. */
import type { IsolationLevel } from '@ashlar/client'

export interface OpenOptions {
  /** Time limit of each call in milliseconds, unless it has its own. Default: none. */
  readonly timeoutMs?: number
  /** The default isolation of texts and transactions. Default `serializable`. */
  readonly isolation?: IsolationLevel
  /** `on` and `off` switch the change log, which `watch` and `changes` need. `auto` (the default): it is on if the store supports it. */
  readonly changeLog?: 'on' | 'off' | 'auto'
  /** Instants are read as a `Date`; see `connect`. */
  readonly dates?: boolean
  /** How integers beyond 2^53 are read; see `connect`. */
  readonly integers?: 'number' | 'bigint'
}
