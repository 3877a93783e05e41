/** Types of a query's request, reply and progress. */
import type { MemoryHolder } from '../budget/memory-pool.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import type { AshlarError } from '../errors.ts'
import type { Once } from '../receipts/receipt.ts'
import type { SliceWatch, TimeSlice } from '../store/time-slice.ts'
import type { Isolation } from '../transaction/isolation.ts'
import type { Dialect } from './language/dialect.ts'
import type { User } from './values/user.ts'

export interface QueryRequest {
  /** One or more statements of DO. */
  readonly text: string
  /** JSON values of `$name` in the text, by name. */
  readonly parameters?: Readonly<Record<string, unknown>> | undefined
  /** The JSON text of `parameters`, if they may include json values and their texts are not noted with them. */
  readonly parametersText?: string | undefined
  /** Defaults to that of the federated database. */
  readonly dialect?: Dialect | undefined
  /** `$$USER`, unless the database sets one (`FederatedDatabase.as`); null if unknown. */
  readonly user?: User | null | undefined
  /** Isolation of a text that changes something; defaults to that of the federated database. */
  readonly isolation?: Isolation | undefined
  /** Replies the plans of all statements instead of rows; changes nothing. */
  readonly explain?: ExplainRequest | undefined
  /** Returns the `uri` in the row of a created index; without it, the row has none. */
  readonly indexUri?: ((name: string) => string) | undefined
  /** Executes a text with changes at most once and stores its rows for retries. */
  readonly once?: Once<readonly RowChunk[]> | undefined
  /** Aborted when the client disconnects; ends the query. */
  readonly signal?: CancelSignal | undefined
  readonly watch?: QueryWatch | undefined
  /** The time slice to run in; by default the query runs to its end on the event loop and yields after each slice. */
  readonly slice?: StatementSlice | undefined
  /** The owner of the query's memory. */
  readonly memoryHolder?: MemoryHolder | undefined
}

/** A time slice for a statement that may be abandoned and rerun in another thread. */
export interface StatementSlice extends TimeSlice {
  /** The statement must be completed by the main thread on its event loop. Throws in any other thread. */
  settle(watch: SliceWatch | undefined): void
  /** The statement must not be abandoned from now on, e.g. after the first of several commits. Throws `sliceOver` if that is not possible. */
  commit(): void
}

/** Thrown by a slice to abandon a statement that has sent and written nothing. Not an error of the statement. */
export const sliceOver = new Error('The statement takes longer than a slice of the event loop.')

/** Callbacks for the caller of a query. */
export interface QueryWatch {
  /** The owner of the slices: see `SliceWatch`. */
  readonly owner?: string
  /** Called at the start with the progress, which may be read at any time. */
  onStarted?(progress: QueryProgress): void
  /** Called when the query's snapshot is ended because it was held for too long, maybe while no one reads rows. */
  onEnded?(error: AshlarError): void
  /** Awaited whenever the query has used up a time slice; a short query finishes without a call. An error it throws ends the query. */
  mayContinue?(): Promise<void> | undefined
}

/** Progress of a query; may be read at any time. */
export interface QueryProgress {
  /** Rows replied so far. */
  readonly rows: number
  /** Objects examined to find rows. */
  readonly touched: number
  /** Working time in milliseconds, without waits for other requests or for the reader. */
  readonly workedMs: number
  /** Bytes of memory charged to the request at present, its transaction included. */
  readonly bytesHeld: number
}

export interface ExplainRequest {
  /** Executes the statements and rolls back their changes; otherwise they are only planned. */
  readonly isAnalyzed: boolean
  /** One JSON text per statement, or one indented text. */
  readonly format: 'json' | 'text'
  /** The number of statements to explain, from the first; undefined for all. */
  readonly statementsMax?: number
}

export interface QueryReply {
  readonly chunks: RowChunks
}

/** A stream of rows. Ending the iteration ends the query; a failure after the first rows is thrown by the iteration. */
export interface RowChunks extends AsyncIterable<RowChunk> {
  /** All rows, if already available: they hold no resources, and a caller that uses them need not iterate. */
  readonly atHand?: readonly RowChunk[]
}

/** A batch of rows, so that the overhead per row is small. The consumer owns it. */
export interface RowChunk {
  /** JSON texts or plans as text, in UTF-8. Each is preceded by a newline, which may be overwritten by another separator. */
  readonly bytes: Buffer
  /** The offset of each text in `bytes`. */
  readonly starts: readonly number[]
}
