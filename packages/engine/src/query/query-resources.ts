/** What the query language of one open federated database has beside the database itself. */
import type { MemoryHolder } from '../budget/memory-pool.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import type { CatalogWriter } from '../ddl/catalog-writer.ts'
import type { DdlExecutor } from '../ddl/ddl-executor.ts'
import type { Awaitable } from '../store/store.ts'
import type { WorkSpans } from '../work-spans.ts'
import type { ChangeListener } from '../write/change-set.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { Dialect } from './language/dialect.ts'
import type { PlanCache } from './plan-cache.ts'
import type { QueryCounts } from './query-counts.ts'
import type { QueryWatch, RowChunks, StatementSlice } from './query-request.ts'
import type { UserValue } from './values/user.ts'

/** Work of one request as a thread does it: one of the operations of its program, from data. */
export interface ThreadWork {
  readonly operation: string
  /** Plain data, which is copied. */
  readonly data: object
  readonly signal?: CancelSignal | undefined
  readonly watch?: QueryWatch | undefined
  readonly memoryHolder?: MemoryHolder | undefined
  /** Called after each of its commits. */
  readonly onChanges?: ChangeListener | undefined
  /** Called before the work changes anything, if its operation announces that. What it throws ends the work. */
  readonly beforeChange?: (() => void) | undefined
  /** Waits until there is room in this process for so many values of a body, which the thread is about to parse. Throws ServerBusy. */
  readonly admitValues?: ((values: number) => Promise<void>) | undefined
  /** `workedMs`: how long the thread took. */
  readonly onEnded?: ((workedMs: number) => void) | undefined
}

/** Work that can be done in a slice, to its end, or in a thread. */
export interface SlicedWork<T> {
  /** Without a slice, to its end. */
  run(slice: StatementSlice | undefined): Awaitable<T>
  readonly inThread: Pick<ThreadWork, 'operation' | 'beforeChange' | 'admitValues'> & { data(): object }
  /** Of what the operation of the thread has returned. May throw. */
  received(result: unknown): T
  /** It is known to take longer than a slice. */
  readonly isLong: boolean
}

export interface ThreadReply {
  readonly chunks: RowChunks
  /** What the operation returned; undefined while there are more rows. */
  readonly result: unknown
}

/** Runs work of requests in other threads, for one caller. */
export interface StatementRunner {
  /** Those that begin in a thread. */
  readonly longTexts: { has(text: string): boolean; add(text: string): void; delete(text: string): void }
  /**
   * Does the work from the beginning. Undefined if only the main thread can do it. Throws what the operation throws, and the reason of the request's signal.
   */
  run(work: ThreadWork): Promise<ThreadReply | undefined>
}

export interface QueryResources {
  readonly database: OpenDatabase
  /** Statements of the schema: alone in their text, and as part of its transaction. */
  readonly ddl: DdlExecutor
  readonly writer: CatalogWriter
  readonly plans: PlanCache
  /** Where requests are traced. */
  /** Runs statements that take longer than a slice; without one, they run on the event loop. */
  readonly threads?: StatementRunner | undefined
  readonly spans?: WorkSpans | undefined
  /** Of all queries. */
  readonly counts: QueryCounts
  /** Of statements that ask for none. */
  readonly dialect: Dialect
  /** Who asks, where that is known: no request can say it. */
  readonly user?: UserValue
  /** Below which IMPORT CSV may read; undefined = not at all. */
  readonly importDirectory: string | undefined
}
