/** What can be chosen for a client, and for single requests. */
import type { BulkCreation, BulkOperation, Dialect } from './wire.ts'

export interface MatchOptions {
  /** The entity tag of the version that is meant. */
  readonly ifMatch?: string
}

export type BulkLine = BulkCreation | BulkOperation

export interface LoadOptions {
  /** `stop` (the default) ends with the first line that fails, `skip` leaves those out that fail. */
  readonly onError?: 'stop' | 'skip'
  /** All lines are one commit, or nothing is done. */
  readonly isAtomic?: boolean
  /** A unique index: what would be created changes the object that has its key, where there is one. */
  readonly upsertOn?: string
  readonly signal?: AbortSignal
}

export interface ExportOptions {
  /** Its objects and those of its subclasses; without it and `query`, everything, as an archive. */
  readonly class?: string
  /** Statements that only read: the rows of the last one. */
  readonly query?: string
  /** Default: `ndjson` with a class or a query, else `archive`. */
  readonly format?: 'ndjson' | 'csv' | 'archive'
  /** Of CSV; dots lead into embedded objects. */
  readonly columns?: readonly string[]
  /** Of CSV that is opened in a spreadsheet: texts that it would take for a formula have an apostrophe before them. */
  readonly escapeFormulas?: boolean
  /** Only objects behind this OID. */
  readonly after?: string
  readonly signal?: AbortSignal
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
  /** Sent by HTTP Basic with each request; not beside `token`. */
  readonly user?: { readonly name: string; readonly password: string }
  /** Default: the `fetch` that there is. */
  readonly fetch?: Fetch
  /**
   * Reads the JSON of replies. Default `JSON.parse`, with which integers beyond 2^53 lose digits; throws what is no JSON.
   */
  readonly parseJson?: (text: string) => unknown
}

/** As much of `fetch` as a client needs. Throws a TypeError where the connection fails and the request may be sent again. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

export interface FetchInit {
  readonly method: string
  readonly headers: Record<string, string>
  /** A stream of bytes for bodies of lines, of which the reply may begin before they have ended. */
  readonly body?: string | ReadableStream<Uint8Array>
  readonly duplex?: 'half'
  readonly signal?: AbortSignal
}

export interface FetchResponse {
  readonly ok: boolean
  readonly status: number
  readonly headers: { get(name: string): string | null }
  readonly body: FetchBody | null
  text(): Promise<string>
}

/** A `ReadableStream` of bytes is one. */
export interface FetchBody {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
    cancel(): Promise<void>
  }
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

export interface ExplainOptions extends QueryOptions {
  /** The statements are carried out, and what they change is undone; else nothing is carried out. */
  readonly isAnalyzed?: boolean
  readonly signal?: AbortSignal
}

/** Which changes are told. */
export interface ChangesOptions {
  /** Behind which to begin: a position that was told before, `first` (what is kept, the default) or `now`. */
  readonly since?: string
  /** Of objects of this class and its subclasses, and of the schema. */
  readonly className?: string
  /** With `className`: of objects for which this predicate of DO holds before or after the change. */
  readonly where?: string
  /** With `className`: of these attributes alone; changes of others are not told. */
  readonly attributes?: readonly string[]
  /** `keys`: without the values. Default `values`. */
  readonly include?: 'values' | 'keys'
  /** Of a page. Default 100. */
  readonly limit?: number
  /** How many seconds to wait for a change where there is none. Default 0; 20 where they are followed. */
  readonly wait?: number
  readonly signal?: AbortSignal
}
