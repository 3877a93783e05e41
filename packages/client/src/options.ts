/** What can be chosen for a client, and for single requests. */
import type { Dialect } from './wire.ts'

export interface MatchOptions {
  /** The entity tag of the version that is meant. */
  readonly ifMatch?: string
}

export interface ClientOptions {
  /** Such as http://127.0.0.1:8185. */
  readonly baseUrl: string
  /** The federated database; may be left out where the server has a default one. */
  readonly fdAlias?: string
  /** How often a request is sent again that failed and does no more when it is sent twice (docs/idempotency.md). Default 3. */
  readonly retriesMax?: number
  /** False: changes are sent without an Idempotency-Key, and so not again where it is not known whether they were made. */
  readonly areChangesKeyed?: boolean
  /** `ash_…`, sent as `Authorization: Bearer`, to a server that callers have to authenticate to. */
  readonly token?: string
  readonly fetch?: typeof fetch
}

export interface AlterationOptions {
  /** Indexes on a deleted attribute, and the other side of its links, are deleted with it. */
  readonly cascade?: boolean
  /** Stored values that do not fit a changed type become the default. */
  readonly allowLoss?: boolean
}

export interface QueryOptions {
  /** That of the federated database where it is left out. */
  readonly dialect?: Dialect
}
