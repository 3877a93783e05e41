/**
 * Takes over work left by dead processes: removes unfinished changes of classes and foreground index builds, and resumes background
 * builds here. Leaves the work of a process whose heartbeat changes alone.
 */
import { isOutOfReach } from '../errors.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { CatalogState, IndexDefinition } from '../schema/class-definition.ts'
import { reassignBuild, withoutIndex } from '../schema/index-definition.ts'
import { pendingSessionNumbers, withoutPendingOf } from '../schema/pending-types.ts'
import type { Bytes } from '../store/store.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { CatalogWriter } from './catalog-writer.ts'
import { type Heartbeat, heartbeatKey, isProcessDead } from './heartbeat.ts'
import type { IndexBuilds } from './index-builds.ts'

/** The number of consecutive polls that must find a heartbeat unchanged: at least two intervals lie between the first and the last. */
const unchangedPollsMax = 3

interface HeartbeatObservation {
  /** The heartbeat row; undefined if there is none. */
  readonly row: Bytes | undefined
  /** Consecutive polls that found the same row, including the last one. */
  readonly polls: number
}

export class Recovery {
  private readonly database: OpenDatabase
  private readonly writer: CatalogWriter
  private readonly builds: IndexBuilds
  private readonly heartbeat: Heartbeat
  /** By the number of the store session. */
  private observations = new Map<number, HeartbeatObservation>()
  private timer: NodeJS.Timeout | undefined
  private polling: Promise<void> = Promise.resolve()
  private isPolling = false
  private isStopped = false

  constructor(database: OpenDatabase, writer: CatalogWriter, builds: IndexBuilds, heartbeat: Heartbeat) {
    this.database = database
    this.writer = writer
    this.builds = builds
    this.heartbeat = heartbeat
  }

  /**
   * Polls immediately and then once per interval. A poll costs nothing while the catalog contains no work of other processes.
   * Work that cannot be taken over now, for instance because a node of the store is missing, does not prevent the start.
   */
  async start(): Promise<void> {
    const { store, catalogs } = this.database
    await withSnapshot(store, (snapshot) => catalogs.at(snapshot))
    await this.poll().catch((error) => {
      if (!isOutOfReach(error)) throw error
    })
    this.writer.purgeInBackground()
    if (!this.isStopped)
      this.timer = setInterval(() => this.pollAgain(), this.database.limits.heartbeatIntervalMs).unref()
  }

  async stop(): Promise<void> {
    this.isStopped = true
    clearInterval(this.timer)
    await this.polling
  }

  /** Skipped while the previous poll is still running, which takes long if the store is unreachable. */
  private pollAgain(): void {
    if (this.isPolling) return
    this.isPolling = true
    this.polling = this.poll()
      .catch((error) => {
        // Left to the next poll.
        if (!isOutOfReach(error)) this.database.onFault(error)
      })
      .finally(() => {
        this.isPolling = false
      })
  }

  private async poll(): Promise<void> {
    const { catalogs, store } = this.database
    if (this.isStopped || this.owners(catalogs.latest).length === 0) return
    const rows = await withSnapshot(store, async (snapshot) => {
      const owners = this.owners(await catalogs.at(snapshot))
      const { values } = await snapshot.read(owners.map(heartbeatKey))
      return owners.map((owner, i) => [owner, values[i]] as const)
    })
    this.observations = new Map(rows.map(([owner, row]) => [owner, this.observe(owner, row)]))
    const dead = new Map(rows.filter(([owner, row]) => this.isPresumedDead(owner, row)))
    if (dead.size > 0) await this.adoptOrphans(dead)
  }

  private observe(owner: number, row: Bytes | undefined): HeartbeatObservation {
    const before = this.observations.get(owner)
    return { row, polls: isSame(before?.row, row) ? (before?.polls ?? 0) + 1 : 1 }
  }

  private isPresumedDead(owner: number, row: Bytes | undefined): boolean {
    return row === undefined || isProcessDead(row) || (this.observations.get(owner)?.polls ?? 0) >= unchangedPollsMax
  }

  /**
   * The store sessions with work in the catalog; 0 represents those with an unknown session. Includes this process while its
   * heartbeat is stopped: work that it could not undo, because the store was unreachable, is orphaned like that of other
   * processes.
   */
  private owners(catalog: Catalog | undefined): number[] {
    if (catalog === undefined) return []
    const building = catalog.indexes.filter(({ state }) => state === 'building').map(({ session = 0 }) => session)
    const owners = new Set([...building, ...pendingSessionNumbers(catalog.state)])
    if (this.heartbeat.isBeating) owners.delete(this.database.session.number)
    return [...owners]
  }

  /** `dead`: session numbers with the observed heartbeat rows; a session whose row has changed since is skipped. */
  private async adoptOrphans(dead: ReadonlyMap<number, Bytes | undefined>): Promise<void> {
    const { session } = this.database
    const owners = [...dead.keys()]
    const state = await this.writer.change(async (catalog, transaction) => {
      const { values } = await transaction.read(owners.map(heartbeatKey))
      const stillDead = owners.filter((owner, i) => isSame(values[i], dead.get(owner)))
      const next = withoutWorkOf(new Set(stillDead), catalog.state, session.number)
      if (next === catalog.state) return { state: next, result: next }
      for (const owner of stillDead) {
        const row = dead.get(owner)
        transaction.requireAsRead(heartbeatKey(owner), row)
        if (row !== undefined) transaction.delete(heartbeatKey(owner))
      }
      return { state: next, result: next }
    })
    for (const index of state.indexes) if (isOwnBuild(index, session.number)) this.builds.startInBackground(index)
    this.writer.purgeInBackground()
  }
}

function withoutWorkOf(dead: ReadonlySet<number>, state: CatalogState, newOwner: number): CatalogState {
  let next = withoutPendingOf(state, dead)
  for (const index of next.indexes) {
    if (index.state !== 'building' || !dead.has(index.session ?? 0)) continue
    next = index.isBackground === true ? reassignBuild(next, index.number, newOwner) : withoutIndex(next, index.number)
  }
  return next
}

function isOwnBuild({ state, isBackground, session }: IndexDefinition, own: number): boolean {
  return state === 'building' && isBackground === true && session === own
}

function isSame(one: Bytes | undefined, other: Bytes | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return Buffer.compare(one, other) === 0
}
