/** What the query language of one open federated database has beside the database itself. */
import type { CatalogWriter } from '../ddl/catalog-writer.ts'
import type { DdlExecutor } from '../ddl/ddl-executor.ts'
import type { WorkSpans } from '../work-spans.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { Dialect } from './language/dialect.ts'
import type { PlanCache } from './plan-cache.ts'
import type { QueryCounts } from './query-counts.ts'
import type { QueryReply, QueryRequest } from './query-request.ts'
import type { UserValue } from './values/user.ts'

/** Runs statements in other threads, for one caller. */
export interface StatementRunner {
  /** Those that begin in a thread. */
  readonly longTexts: { has(text: string): boolean; add(text: string): void }
  /**
   * Runs the request from the beginning. `isReadOnly`: see `StatementSlice`. Undefined for statements that only the main thread runs. Throws what the
   * statements throw, and the reason of the request's signal.
   */
  run(request: QueryRequest, isReadOnly: boolean): Promise<QueryReply | undefined>
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
