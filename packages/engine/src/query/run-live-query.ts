/** Runs a live query on one snapshot: its rows with the OIDs of their objects, and the query's dependencies. */
import type { RequestMemory } from '../budget/request-memory.ts'
import { AshlarError } from '../errors.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { Snapshot } from '../store/store.ts'
import type { TimeSlice } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'
import { prepareScript } from './prepare-text.ts'
import type { QueryRequest } from './query-request.ts'
import type { QueryResources } from './query-resources.ts'
import { ScriptExecutor } from './script-executor.ts'
import { type LiveConcern, liveConcern, liveStatement, rowsWithOids } from './statements/live-select.ts'

export interface LiveRow {
  readonly oid: Oid
  /** `{"oid":"3-1-1-1","row":…}` in UTF-8. */
  readonly json: Buffer
}

export interface LiveRun {
  readonly concern: LiveConcern
  readonly rows: readonly LiveRow[]
  /** Yields between batches when the rows are processed. */
  readonly slice: TimeSlice
}

/** Memory overhead of a row in addition to its text. */
const rowBytes = 150
const oidStart = '{"oid":"'.length

/**
 * Charges the rows to `memory`. Throws QuerySyntaxError, QueryError (also for statements that cannot be live), LimitExceeded for more than
 * `liveRowsMax` rows, and whatever a query throws.
 */
export async function runLiveQuery(
  request: QueryRequest,
  resources: QueryResources,
  snapshot: Snapshot,
  catalog: Catalog,
  memory: RequestMemory,
): Promise<LiveRun> {
  const { statements, texts, state } = await prepareScript(request, resources, memory, false)
  const statement = liveStatement(statements, request.text)
  const executor = new ScriptExecutor(resources, texts, snapshot, catalog, state, undefined)
  const concern = liveConcern(statement, executor)
  const { liveRowsMax } = resources.database.limits
  const rows: LiveRow[] = []
  for await (const { bytes, starts } of await rowsWithOids(statement, executor, executor.context())) {
    memory.chargeRequest(bytes.length + rowBytes * starts.length)
    for (const [i, start] of starts.entries()) {
      // Each row is preceded by a newline.
      const end = i + 1 < starts.length ? (starts[i + 1] as number) - 1 : bytes.length
      const json = bytes.subarray(start, end)
      rows.push({ oid: json.toString('latin1', oidStart, json.indexOf('"', oidStart)) as Oid, json })
    }
    if (rows.length > liveRowsMax) {
      throw new AshlarError(
        'LimitExceeded',
        `A live query has at most ${liveRowsMax} rows (liveRowsMax), which are held to tell what changes; WHERE or TAKE asks for fewer.`,
      )
    }
  }
  return { concern, rows, slice: texts.slice }
}
