/** Options of a client and of its methods. */
import type { BulkCreation, BulkOperation, ClassValidation, Dialect, IsolationLevel } from './wire.ts'

/** Options of every method. */
export interface CallOptions {
  /** Ends the call, at once and at any point: its method throws the reason of the signal, by default an `AbortError`. */
  readonly signal?: AbortSignal | undefined
  /**
   * Time limit of the call in milliseconds, with all of its repetitions: `AshlarTimeoutError`. For streams (`queryStream`, `export`, `loadObjects`,
   * `followQuery`), the time until the reply begins. Default: that of the client.
   */
  readonly timeoutMs?: number | undefined
}

export interface FollowOptions extends CallOptions {
  /** Called each time the connection is lost, with the reason. It is made again by itself. */
  readonly onLost?: ((error: unknown) => void) | undefined
}

export interface MatchOptions extends CallOptions {
  /** The entity tag of the version on which the change is based (`readObjectWithEtag`). */
  readonly ifMatch?: string
}

export type BulkLine = BulkCreation | BulkOperation

export interface LoadOptions extends CallOptions {
  /** `stop` (the default): the first line that fails ends the load. `skip`: lines that fail are left out. */
  readonly onError?: 'stop' | 'skip'
  /** Commits all lines together, or none of them. */
  readonly isAtomic?: boolean
  /** The name of a unique index: a line that would create an object updates the one with the same key, if there is one. */
  readonly upsertOn?: string
}

export interface ExportOptions extends CallOptions {
  /** Exports the objects of this class and its subclasses. Without `class` and `query`, exports everything as an archive. */
  readonly class?: string
  /** Exports the rows of the last of these statements, which must be read-only. */
  readonly query?: string
  /** Default: `ndjson` with `class` or `query`, otherwise `archive`. */
  readonly format?: 'ndjson' | 'csv' | 'archive'
  /** The columns of CSV; dots lead into embedded objects. */
  readonly columns?: readonly string[]
  /** For CSV that is opened in a spreadsheet: puts an apostrophe before texts that would be read as a formula. */
  readonly escapeFormulas?: boolean
  /** Exports only objects after this OID, in the order of OIDs. */
  readonly after?: string
}

export interface ClientOptions {
  /** The address of the server, such as http://127.0.0.1:8185. */
  readonly baseUrl: string
  /** The federated database. Can be omitted if the server has a default one. */
  readonly fdAlias?: string
  /** How often a failed request is sent again, if sending it twice does no harm (docs/idempotency.md). Default 3. */
  readonly retriesMax?: number
  /** Time limit of each call in milliseconds, unless it has its own. Default: none. */
  readonly timeoutMs?: number
  /** False: changes are sent without an Idempotency-Key, and are not repeated if it is unknown whether they were made. */
  readonly areChangesKeyed?: boolean
  /** An API token (`ash_…`) or a JWT, sent as `Authorization: Bearer`. */
  readonly token?: string
  /** A user name and password, sent with each request (HTTP Basic). Without `token` and `user`, a browser sends the cookie of its session. */
  readonly user?: { readonly name: string; readonly password: string }
  /**
   * How integers beyond ±(2^53 − 1) are read. `number` (the default) rounds them, as JSON.parse does; `bigint` returns them exactly, as a bigint, and smaller
   * ones as a number. A bigint is always sent exactly.
   */
  readonly integers?: 'number' | 'bigint'
  /**
   * True: in objects, rows and changes, strings with a date, a time and a zone (`2026-07-01T12:00:00Z`, `…+02:00`) are returned as a `Date`. These are the
   * values of instants (storage `datetimeoffset`). A plain `datetime` has no zone and stays a string: JavaScript would read it as local time.
   */
  readonly dates?: boolean
  /** Whether `loadObjects` streams its request. Default: true where it works over HTTP/1.1, which is not in browsers. */
  readonly requestStreams?: boolean
  /** Replaces the `fetch` of the environment. */
  readonly fetch?: Fetch
}

/** The part of `fetch` that a client needs. If the connection fails, throws AshlarConnectionError, or the error of `fetch` in Node or a browser. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

export interface FetchInit {
  readonly method: string
  readonly headers: Record<string, string>
  /** A stream for bodies of lines: the reply may begin before they have ended. */
  readonly body?: string | ReadableStream<Uint8Array>
  readonly duplex?: 'half'
  readonly credentials?: 'include'
  readonly signal?: AbortSignal
}

export interface FetchResponse {
  readonly ok: boolean
  readonly status: number
  readonly headers: { get(name: string): string | null }
  readonly body: FetchBody | null
  text(): Promise<string>
}

/** A subset of `ReadableStream` of bytes. */
export interface FetchBody {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
    cancel(): Promise<void>
  }
}

export interface AlterationOptions extends CallOptions {
  /** Also deletes the indexes on a deleted attribute, and the inverse attribute of a deleted link. */
  readonly cascade?: boolean
  /** Replaces stored values that do not fit a changed type by the default. Without it, the change is refused if there are any. */
  readonly allowLoss?: boolean
  /** false: existing objects may violate new constraints, which then apply to later writes only. */
  readonly validate?: boolean
}

export interface BackgroundAlterationOptions extends AlterationOptions {
  /** Called with the number of objects that have been checked or indexed so far. */
  readonly onProgress?: ((progress: NonNullable<ClassValidation['progress']>) => void) | undefined
}

export interface QueryOptions extends TransactionOptions {
  /** Default: the dialect of the federated database. */
  readonly dialect?: Dialect
}

/** Options of calls that run in one transaction. */
export interface TransactionOptions extends CallOptions {
  /** Default: the isolation level of the federated database, which is `serializable` unless it is configured. */
  readonly isolation?: IsolationLevel
}

export interface ExplainOptions extends QueryOptions {
  /** Executes the statements and undoes their changes. Otherwise they are only planned. */
  readonly isAnalyzed?: boolean
}

/** Which changes are returned. */
export interface ChangesOptions extends CallOptions {
  /** The position to continue from: one from an earlier reply, `first` (all changes that are kept, the default) or `now`. */
  readonly since?: string
  /** Only changes of objects of this class and its subclasses, and of the schema. */
  readonly className?: string
  /** With `className`: only objects that fulfil this predicate of DO before or after the change. */
  readonly where?: string
  /** With `className`: only changes of these attributes. */
  readonly attributes?: readonly string[]
  /** `keys` leaves the values out. Default `values`. */
  readonly include?: 'values' | 'keys'
  /** Changes per page. Default 100. */
  readonly limit?: number
  /** How many seconds to wait for a change if there is none yet; added to the time limit. Default 0, in `followChanges` 20. */
  readonly wait?: number
}

export interface SignOutOptions extends CallOptions {
  /** Ends the sessions of the user in all browsers. */
  readonly isEverywhere?: boolean
}

export interface AuditOptions extends CallOptions {
  /** Entries per page. */
  readonly limit?: number
  /** The `next` of the previous page: returns older entries. */
  readonly before?: string
}
