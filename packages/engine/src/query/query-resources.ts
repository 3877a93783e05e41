/** Resources of the query language for one open federated database. */
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

/** Work of a request for a thread: the name of an operation and its data. */
export interface ThreadWork {
  readonly operation: string
  /** Plain data, which is cloned for the thread. */
  readonly data: object
  readonly signal?: CancelSignal | undefined
  readonly watch?: QueryWatch | undefined
  readonly memoryHolder?: MemoryHolder | undefined
  /** Called after each commit of the work. */
  readonly onChanges?: ChangeListener | undefined
  /** Called before the work changes anything, if the operation announces changes. An error it throws ends the work. */
  readonly beforeChange?: (() => void) | undefined
  /** Waits until this process has room for the values of a body that the thread is about to parse. Throws ServerBusy. */
  readonly admitValues?: ((values: number) => Promise<void>) | undefined
  /** `workedMs`: the thread's working time in milliseconds. */
  readonly onEnded?: ((workedMs: number) => void) | undefined
}

/** Work that can run in a slice, to its end, or in a thread. */
export interface SlicedWork<T> {
  /** Without a slice, the work runs to its end. */
  run(slice: StatementSlice | undefined): Awaitable<T>
  readonly inThread: Pick<ThreadWork, 'operation' | 'beforeChange' | 'admitValues'> & { data(): object }
  /** Converts the result of the thread's operation. May throw. */
  received(result: unknown): T
  /** The work is known to exceed a slice. */
  readonly isLong: boolean
}

export interface ThreadReply {
  readonly chunks: RowChunks
  /** The result of the operation; undefined while more rows follow. */
  readonly result: unknown
}

/** Runs work of requests in other threads. */
export interface StatementRunner {
  /** Texts that start in a thread, since they exceeded a slice before. */
  readonly longTexts: { has(text: string): boolean; add(text: string): void; delete(text: string): void }
  /** Does the work from its start; undefined if only the main thread can. Throws the errors of the operation and the signal's reason. */
  run(work: ThreadWork): Promise<ThreadReply | undefined>
}

export interface QueryResources {
  readonly database: OpenDatabase
  /** Executes schema statements, both alone in their text and within its transaction. */
  readonly ddl: DdlExecutor
  readonly writer: CatalogWriter
  readonly plans: PlanCache
  /** Runs statements that exceed a slice; without it, they run on the event loop. */
  readonly threads?: StatementRunner | undefined
  readonly spans?: WorkSpans | undefined
  /** Totals of all queries. */
  readonly counts: QueryCounts
  /** The default for statements without one. */
  readonly dialect: Dialect
  /** The user, if authenticated: requests cannot override it. */
  readonly user?: UserValue
  /** The directory IMPORT CSV may read from; undefined disables IMPORT. */
  readonly importDirectory: string | undefined
}
