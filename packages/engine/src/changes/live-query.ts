/** A query whose result is followed: its rows, and then what enters, changes and leaves, commit by commit (contract 2.4.8). */
import { RequestMemory } from '../budget/request-memory.ts'
import { AshlarError } from '../errors.ts'
import type { QueryRequest } from '../query/query-request.ts'
import type { QueryResources } from '../query/query-resources.ts'
import { type LiveRun, runLiveQuery } from '../query/run-live-query.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { Snapshot } from '../store/store.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import type { ChangeFeed, FeedPosition } from './change-feed.ts'
import { FollowedRows, followedRowBytes, type RowEvent } from './followed-rows.ts'
import type { RestrictedRuns } from './restricted-runs.ts'

/** Applied in order to the previous rows, the events result in the rows at the position. */
export interface LiveStep {
  readonly events: readonly RowEvent[]
  readonly position: string
  /** Whether the rows may also show commits after the position, made concurrently with commits still in progress. */
  readonly isAhead: boolean
  /** Whether there were no more changes when the step was made. */
  readonly isAtEnd: boolean
  /** How long the query ran; 0 if it was not repeated. */
  readonly workedMs: number
}

/** Created by `FederatedDatabase.liveQuery`; `end` releases its memory. */
export class LiveQuery {
  private readonly request: QueryRequest
  private readonly resources: QueryResources
  private readonly feed: ChangeFeed
  private readonly restricted: RestrictedRuns | undefined
  private readonly rows = new FollowedRows()
  private readonly rowMemory: RequestMemory
  private readonly runMemory: RequestMemory
  private concern!: LiveRun['concern']
  private position = ''
  private isAhead = false

  /** `feed`: of all changes, regardless of the follower. */
  constructor(request: QueryRequest, resources: QueryResources, feed: ChangeFeed, restricted?: RestrictedRuns) {
    const { memory, limits } = resources.database
    this.restricted = restricted
    this.request = request
    this.resources = resources
    this.feed = feed
    this.rowMemory = new RequestMemory(memory, limits, request.memoryHolder)
    this.runMemory = new RequestMemory(memory, limits, request.memoryHolder)
  }

  /** Available after `begin`: whether the rows are ordered, so that events contain positions. */
  get isOrdered(): boolean {
    return this.concern.isOrdered
  }

  /** Returns the rows as the first step. Throws QueryError for queries that cannot be followed, ChangeLogOff, and other errors of queries. */
  begin(): Promise<LiveStep> {
    return this.run()
  }

  /**
   * Whether a result at this position equals that of the first step: no relevant change was made in between. Only for queries without ORDER BY, SKIP
   * and TAKE: rows that compare equal may be in another order in another run.
   */
  async isUnchangedSince(position: string): Promise<boolean> {
    // The caller's permissions may have changed meanwhile.
    if (!this.concern.isFilterOnly || this.isAhead || this.restricted !== undefined) return false
    try {
      const found = await this.nextRelevant(position)
      return found.isIrrelevant && found.isAtEnd
    } catch (error) {
      if (isPositionError(error)) return false
      throw error
    }
  }

  /**
   * Returns the changes of the rows since the previous step; memory for its events is held until the next one. Throws ChangeLogOff if the log was
   * turned off, the errors of `begin` if the query is no longer valid, and the signal's reason.
   */
  async next(): Promise<LiveStep> {
    this.runMemory.release()
    try {
      const { isIrrelevant, position, isAtEnd } = await this.nextRelevant(this.position)
      // Rows ahead of the position may belong to any of the commits passed since.
      const { isAhead } = this
      if (isIrrelevant && (!isAhead || position === this.position)) {
        this.position = position
        return { events: [], position, isAhead, isAtEnd, workedMs: 0 }
      }
    } catch (error) {
      // The changes are no longer available: the rows are compared instead.
      if (!isPositionError(error)) throw error
    }
    return this.run()
  }

  end(): void {
    this.runMemory.release()
    this.rowMemory.release()
  }

  private async nextRelevant(since: string): Promise<{
    readonly isIrrelevant: boolean
    readonly position: string
    readonly isAtEnd: boolean
  }> {
    const { classNumber, dependsOnRecordsOnly } = this.concern
    const { changes, position, isAtEnd } = await this.feed.page({
      since,
      className: dependsOnRecordsOnly ? String(classNumber) : undefined,
      include: 'keys',
      limit: 1,
      signal: this.request.signal,
    })
    return { isIrrelevant: changes.length === 0, position, isAtEnd }
  }

  private async run(): Promise<LiveStep> {
    const startMs = performance.now()
    const { store, catalogs } = this.resources.database
    const numbers = await store.settledNumbers?.()
    const [run, now] = await withSnapshot(
      store,
      async (snapshot): Promise<[LiveRun, FeedPosition]> => {
        this.runMemory.releaseAllBut(0)
        const catalog = await catalogs.at(snapshot)
        const at = await this.feed.endOf(snapshot, catalog, numbers)
        return [await this.runOn(snapshot, catalog), at]
      },
      { isolation: 'readOnly' },
    )
    const { concern, rows, slice } = run
    const chargedBytes = this.rowMemory.requestBytes
    this.rowMemory.chargeRequest(Math.max(0, rows.length * followedRowBytes - chargedBytes))
    const events = await this.rows.replace(rows, concern.isOrdered, slice)
    let bytes = 0
    for (const { json } of events) bytes += json.length
    this.runMemory.chargeRequest(bytes)
    this.rowMemory.releaseAllBut(rows.length * followedRowBytes)
    this.concern = concern
    this.position = now.position
    this.isAhead = now.isAhead
    return { events, ...now, isAtEnd: true, workedMs: performance.now() - startMs }
  }

  private runOn(snapshot: Snapshot, catalog: Catalog): Promise<LiveRun> {
    const { request, resources, runMemory, restricted } = this
    if (restricted === undefined) return runLiveQuery(request, resources, snapshot, catalog, runMemory)
    return restricted.run(request, resources, snapshot, catalog, runMemory)
  }
}

function isPositionError(error: unknown): boolean {
  return error instanceof AshlarError && (error.type === 'ChangesGone' || error.type === 'MalformedRequest')
}
