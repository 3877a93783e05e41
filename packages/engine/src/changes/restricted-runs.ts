/** Runs of a query followed by a caller with grants: on each snapshot as that caller sees it (contract 2.4.12). */
import { restrictedDatabase } from '../access/restricted-database.ts'
import { RestrictedSnapshot } from '../access/restricted-snapshot.ts'
import { Visibility } from '../access/visibility.ts'
import type { RequestMemory } from '../budget/request-memory.ts'
import { AshlarError } from '../errors.ts'
import type { QueryRequest } from '../query/query-request.ts'
import type { QueryResources } from '../query/query-resources.ts'
import { type LiveRun, runLiveQuery } from '../query/run-live-query.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { Snapshot } from '../store/store.ts'
import { isConcernOfRecords, type RestrictedFollower } from './seen-changes.ts'

export class RestrictedRuns {
  private readonly follower: RestrictedFollower

  constructor(follower: RestrictedFollower) {
    this.follower = follower
  }

  /** `resources`, `snapshot`, `catalog`: unrestricted. Throws errors of `runLiveQuery`, and Forbidden if visible rows may change without a commit. */
  async run(
    request: QueryRequest,
    resources: QueryResources,
    snapshot: Snapshot,
    catalog: Catalog,
    memory: RequestMemory,
  ): Promise<LiveRun> {
    const { accesses, user } = this.follower
    const { database } = resources
    const requester = { user, signal: request.signal, memory }
    const access = await accesses.of(catalog).prepared()
    const visibility = new Visibility(snapshot, access, database, requester)
    const visible = new RestrictedSnapshot(snapshot, () => ({ access, visibility }))
    const restricted = {
      ...resources,
      database: restrictedDatabase(database, accesses, requester),
      importDirectory: undefined,
    }
    const run = await runLiveQuery(request, restricted, visible, access.restricted, memory)
    const { concern } = run
    const { isSteady, dependsOnRecordsOnly } = isConcernOfRecords(access, concern.classNumber)
    if (!isSteady || visibility.isUnsteady) throw unsteady()
    return {
      ...run,
      concern: { ...concern, dependsOnRecordsOnly: concern.dependsOnRecordsOnly && dependsOnRecordsOnly },
    }
  }
}

function unsteady(): AshlarError {
  return new AshlarError(
    'Forbidden',
    'This query cannot be followed by this caller: a rule by which it sees objects asks for the time or for chance, so that the rows may change although nothing is written.',
  )
}
