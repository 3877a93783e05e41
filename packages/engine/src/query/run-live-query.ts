/** A live query, carried out on one snapshot: its rows with the OIDs of their objects, and what they depend on. */
import type { RequestMemory } from '../budget/request-memory.ts'
import { AshlarError } from '../errors.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { Snapshot } from '../store/store.ts'
import type { TimeSlice } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'
import { prepare } from './prepare-text.ts'
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
  /** Between pieces of what is done with the rows. */
  readonly slice: TimeSlice
}

/** What a row takes beside its text. */
const rowBytes = 150
const oidStart = '{"oid":"'.length

/**
 * `memory` is charged with the rows. Throws QuerySyntaxError, QueryError, also for statements that cannot be followed, LimitExceeded
 * for too many rows (`liveRowsMax`) and what else a query throws.
 */
export async function runLiveQuery(
  request: QueryRequest,
  resources: QueryResources,
  snapshot: Snapshot,
  catalog: Catalog,
  memory: RequestMemory,
): Promise<LiveRun> {
  const { statements, texts, state } = await prepare(request, resources, memory, false)
  const statement = liveStatement(statements, request.text)
  const executor = new ScriptExecutor(resources, texts, snapshot, catalog, state, undefined)
  const concern = liveConcern(statement, executor)
  const { liveRowsMax } = resources.database.limits
  const rows: LiveRow[] = []
  for await (const { bytes, starts } of await rowsWithOids(statement, executor, executor.context())) {
    memory.chargeRequest(bytes.length + rowBytes * starts.length)
    for (const [i, start] of starts.entries()) {
      // Before each row is a newline.
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
