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
import { FollowedRows, heldRowBytes, type RowEvent } from './followed-rows.ts'
import type { RestrictedRuns } from './restricted-runs.ts'

/** Applied to the rows that were there before, one after the other, the events lead to those at the position. */
export interface LiveStep {
  readonly events: readonly RowEvent[]
  readonly position: string
  /** The rows may show commits behind the position as well, which were made at the same time as others that are still under way. */
  readonly isAhead: boolean
  /** There was nothing more when the step was made. */
  readonly isAtEnd: boolean
  /** How long the query was at work: 0 where it was not run anew. */
  readonly workedMs: number
}

/** Made by `FederatedDatabase.liveQuery`; `end` gives back what it holds. */
export class LiveQuery {
  private readonly request: QueryRequest
  private readonly resources: QueryResources
  private readonly feed: ChangeFeed
  private readonly restricted: RestrictedRuns | undefined
  private readonly rows = new FollowedRows()
  /** For the rows that are held, and for a run. */
  private readonly held: RequestMemory
  private readonly ofRun: RequestMemory
  private concern!: LiveRun['concern']
  private position = ''
  private isAhead = false

  /** `feed`: of all changes, whoever follows. */
  constructor(request: QueryRequest, resources: QueryResources, feed: ChangeFeed, restricted?: RestrictedRuns) {
    const { memory, limits } = resources.database
    this.restricted = restricted
    this.request = request
    this.resources = resources
    this.feed = feed
    this.held = new RequestMemory(memory, limits, request.memoryHolder)
    this.ofRun = new RequestMemory(memory, limits, request.memoryHolder)
  }

  /** Once it has begun: whether its rows have an order, which the events then tell. */
  get isOrdered(): boolean {
    return this.concern.isOrdered
  }

  /**
   * The rows, as the first step. Throws QuerySyntaxError, QueryError for what cannot be followed, ChangeLogOff, LimitExceeded, and what else queries
   * throw.
   */
  begin(): Promise<LiveStep> {
    return this.run()
  }

  /**
   * Whether a follower that has the result at this position has that of the first step too: nothing that concerns it was changed in between. Only
   * of queries without ORDER BY, SKIP and TAKE: where rows are equal in their order, another run may have them otherwise.
   */
  async isUnchangedSince(position: string): Promise<boolean> {
    // What the caller may see may have changed since.
    if (!this.concern.isWhole || this.isAhead || this.restricted !== undefined) return false
    try {
      const found = await this.nextConcerning(position)
      return found.isUnconcerned && found.isAtEnd
    } catch (error) {
      if (isOfPosition(error)) return false
      throw error
    }
  }

  /**
   * What has become of the rows since the step before; its events are held until the next one. Throws ChangeLogOff where the log was turned off, what
   * `begin` does where the query is no longer one that can be carried out, and the signal's reason.
   */
  async next(): Promise<LiveStep> {
    this.ofRun.release()
    try {
      const { isUnconcerned, position, isAtEnd } = await this.nextConcerning(this.position)
      // What is ahead may be of any of the commits that were passed since.
      const { isAhead } = this
      if (isUnconcerned && (!isAhead || position === this.position)) {
        this.position = position
        return { events: [], position, isAhead, isAtEnd, workedMs: 0 }
      }
    } catch (error) {
      // What changed is not to be told any more: the rows tell.
      if (!isOfPosition(error)) throw error
    }
    return this.run()
  }

  end(): void {
    this.ofRun.release()
    this.held.release()
  }

  /** Looks for a change behind the position that may concern the result. */
  private async nextConcerning(since: string): Promise<{
    readonly isUnconcerned: boolean
    readonly position: string
    readonly isAtEnd: boolean
  }> {
    const { classNumber, isOfRecords } = this.concern
    const { changes, position, isAtEnd } = await this.feed.page({
      since,
      className: isOfRecords ? String(classNumber) : undefined,
      include: 'keys',
      limit: 1,
      signal: this.request.signal,
    })
    return { isUnconcerned: changes.length === 0, position, isAtEnd }
  }

  private async run(): Promise<LiveStep> {
    const begunMs = performance.now()
    const { store, catalogs } = this.resources.database
    const numbers = await store.settledNumbers?.()
    const [run, now] = await withSnapshot(
      store,
      async (snapshot): Promise<[LiveRun, FeedPosition]> => {
        this.ofRun.releaseAllBut(0)
        const catalog = await catalogs.at(snapshot)
        const at = await this.feed.endOf(snapshot, catalog, numbers)
        return [await this.runOn(snapshot, catalog), at]
      },
      { isolation: 'readOnly' },
    )
    const { concern, rows, slice } = run
    const heldBytes = this.held.requestBytes
    this.held.chargeRequest(Math.max(0, rows.length * heldRowBytes - heldBytes))
    const events = await this.rows.replace(rows, concern.isOrdered, slice)
    let bytes = 0
    for (const { json } of events) bytes += json.length
    this.ofRun.chargeRequest(bytes)
    this.held.releaseAllBut(rows.length * heldRowBytes)
    this.concern = concern
    this.position = now.position
    this.isAhead = now.isAhead
    return { events, ...now, isAtEnd: true, workedMs: performance.now() - begunMs }
  }

  private runOn(snapshot: Snapshot, catalog: Catalog): Promise<LiveRun> {
    const { request, resources, ofRun, restricted } = this
    if (restricted === undefined) return runLiveQuery(request, resources, snapshot, catalog, ofRun)
    return restricted.run(request, resources, snapshot, catalog, ofRun)
  }
}

function isOfPosition(error: unknown): boolean {
  return error instanceof AshlarError && (error.type === 'ChangesGone' || error.type === 'MalformedRequest')
}
