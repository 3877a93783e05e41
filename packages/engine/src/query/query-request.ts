/** What a query is asked with and answered by. */
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
  /** `$name` in the text, by name: JSON values. */
  readonly parameters?: Readonly<Record<string, unknown>> | undefined
  /** The JSON of `parameters`, where values of type json may be among them and it is not noted with them. */
  readonly parametersText?: string | undefined
  /** That of the federated database where it is left out. */
  readonly dialect?: Dialect | undefined
  /** `$$USER`, where the database has none of its own (`FederatedDatabase.as`); null where nobody is known. */
  readonly user?: User | null | undefined
  /** Of a text that changes something; that of the federated database if it is left out. */
  readonly isolation?: Isolation | undefined
  /** Instead of rows, the plans of all statements; nothing is changed. */
  readonly explain?: ExplainRequest | undefined
  /** What the row of an index that is created has as its `uri`; without it, none. */
  readonly indexUri?: ((name: string) => string) | undefined
  /** Where the text changes something, it is carried out once, and its rows are kept. */
  readonly once?: Once<readonly RowChunk[]> | undefined
  /** Aborted when the client goes away: the query then ends. */
  readonly signal?: CancelSignal | undefined
  readonly watch?: QueryWatch | undefined
  /** Where it runs; without one, on the event loop to its end, which it yields after each slice. */
  readonly slice?: StatementSlice | undefined
  /** Who holds what the query takes in memory. */
  readonly memoryHolder?: MemoryHolder | undefined
}

/** The slice of a statement that may be abandoned and run elsewhere. */
export interface StatementSlice extends TimeSlice {
  /** The statement must be run to its end by the main thread, and on its event loop. Throws in any other thread. */
  settle(watch: SliceWatch | undefined): void
  /** The statement must not be abandoned once it has begun, as after the first of several commits. Throws `sliceOver` if it could be. */
  commit(): void
}

/** Thrown by a slice to abandon a statement that has sent and written nothing. It is no error of the statement. */
export const sliceOver = new Error('The statement takes longer than a slice of the event loop.')

/** Whoever has the query run, and is told how it gets on. */
export interface QueryWatch {
  /** Whose it is: see `SliceWatch`. */
  readonly owner?: string
  /** Told at the beginning where to ask how far the query is. */
  onBegun?(progress: QueryProgress): void
  /** Told when what the query reads from was held for too long and is ended, maybe while nobody takes rows. */
  onEnded?(error: AshlarError): void
  /**
   * Waited for whenever the query has worked for a while and others are to have their turn: a short query ends without it. What it throws
   * ends the query.
   */
  mayGoOn?(): Promise<void> | undefined
}

/** How far a query is; to be asked at any time. */
export interface QueryProgress {
  /** Of its reply, written so far. */
  readonly rows: number
  /** Objects that were looked at to find rows. */
  readonly touched: number
  /** Milliseconds in which the server has worked for it, others' turns and waiting for its reader aside. */
  readonly workedMs: number
  /** What the request is charged with in memory at the moment, its transaction included. */
  readonly bytesHeld: number
}

export interface ExplainRequest {
  /** The statements are carried out, and what they change is undone; else they are only planned. */
  readonly isAnalyzed: boolean
  /** A JSON text for each statement, or one indented text. */
  readonly format: 'json' | 'text'
  /** So many statements of the text, the first ones; all of them where it is undefined. */
  readonly statementsMax?: number
}

export interface QueryReply {
  readonly chunks: RowChunks
}

/** Rows as they come. Ending the iteration ends the query; a failure after the first rows is thrown by it. */
export interface RowChunks extends AsyncIterable<RowChunk> {
  /** All of them, where they are there already: nothing is held for them, and whoever takes them so needs no iteration. */
  readonly atHand?: readonly RowChunk[]
}

/** Some rows: many at once, so that a row costs no more than its text. Whoever takes them owns them. */
export interface RowChunk {
  /** JSON texts in UTF-8, or those of plans for people. Before each is a newline, in whose place another separator may be written. */
  readonly bytes: Buffer
  /** Where in `bytes` each text starts. */
  readonly starts: readonly number[]
}
