/**
 * Takes over what a process that is gone has left: an index that nobody waits for any more and a change of types that
 * nobody ends are removed, builds in the background go on here. A living process shows a sign of life, and is left alone.
 */
import { catalogVersionKey } from '../bytes/key-space.ts'
import { changeCatalog } from '../catalog/change-catalog.ts'
import { isOutOfReach } from '../errors.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { CatalogState, IndexDefinition } from '../schema/class-definition.ts'
import { withIndexOf, withoutIndex } from '../schema/index-definition.ts'
import { pendingSessions, withoutPendingOf } from '../schema/pending-retype.ts'
import type { Bytes } from '../store/store.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import { transact } from '../transaction/transact.ts'
import type { CatalogWriter } from './catalog-writer.ts'
import { type Heartbeat, heartbeatKey, isProcessDead } from './heartbeat.ts'
import type { IndexBuilds } from './index-builds.ts'

/** So many looks have to find a sign unchanged: two intervals at least lie between the first and the last. */
const looksMax = 3

interface Seen {
  /** Absent: without a sign. */
  readonly sign: Bytes | undefined
  readonly looks: number
}

export class Recovery {
  private readonly writer: CatalogWriter
  private readonly builds: IndexBuilds
  private readonly heartbeat: Heartbeat
  private seen = new Map<number, Seen>()
  private timer: NodeJS.Timeout | undefined
  private looking: Promise<void> = Promise.resolve()
  private isLooking = false
  private isStopped = false

  constructor(writer: CatalogWriter, builds: IndexBuilds, heartbeat: Heartbeat) {
    this.writer = writer
    this.builds = builds
    this.heartbeat = heartbeat
  }

  /**
   * Looks at once, and from then on for as long as others have begun something: a look that finds nothing costs nothing. What cannot be
   * taken over at present, for which a node of the store may be missing, does not prevent the start.
   */
  async start(): Promise<void> {
    const { store, catalogs } = this.writer
    await withSnapshot(store, (snapshot) => catalogs.at(snapshot))
    await this.look().catch((error) => {
      if (!isOutOfReach(error)) throw error
    })
    this.writer.purgeInBackground()
    if (!this.isStopped)
      this.timer = setInterval(() => this.lookAgain(), this.writer.limits.heartbeatIntervalMs).unref()
  }

  async stop(): Promise<void> {
    this.isStopped = true
    clearInterval(this.timer)
    await this.looking
  }

  /** Not while a look is under way still, which a store out of reach makes long. */
  private lookAgain(): void {
    if (this.isLooking) return
    this.isLooking = true
    this.looking = this.look()
      .catch((error) => {
        // The next look will tell.
        if (!isOutOfReach(error)) this.writer.onFault(error)
      })
      .finally(() => {
        this.isLooking = false
      })
  }

  private async look(): Promise<void> {
    const { catalogs, store } = this.writer
    if (this.isStopped || this.others(catalogs.latest).length === 0) return
    const looked = await withSnapshot(store, async (snapshot) => {
      const others = this.others(await catalogs.at(snapshot))
      const { values } = await snapshot.read(others.map(heartbeatKey))
      return others.map((session, i) => [session, values[i]] as const)
    })
    this.seen = new Map(looked.map(([session, sign]) => [session, { sign, looks: this.looksAt(session, sign) }]))
    const gone = new Map(looked.filter(([session, sign]) => this.isTakenForGone(session, sign)))
    if (gone.size > 0) await this.takeOver(gone)
  }

  private looksAt(session: number, sign: Bytes | undefined): number {
    const before = this.seen.get(session)
    return isSame(before?.sign, sign) ? (before?.looks ?? 0) + 1 : 1
  }

  private isTakenForGone(session: number, sign: Bytes | undefined): boolean {
    return sign === undefined || isProcessDead(sign) || (this.seen.get(session)?.looks ?? 0) >= looksMax
  }

  /**
   * The sessions that have begun something; 0 stands for those of no known session. This one counts while it works on nothing:
   * what it could not undo, because the store was out of reach, is a leftover like that of others.
   */
  private others(catalog: Catalog | undefined): number[] {
    if (catalog === undefined) return []
    const building = catalog.indexes.filter(({ state }) => state === 'building').map(({ session = 0 }) => session)
    const others = new Set([...building, ...pendingSessions(catalog.state)])
    if (this.heartbeat.isBeating) others.delete(this.writer.session.number)
    return [...others]
  }

  /** `gone`: with the signs as they were seen; whoever has shown another meanwhile is left alone. */
  private async takeOver(gone: ReadonlyMap<number, Bytes | undefined>): Promise<void> {
    const { store, limits, catalogs, session } = this.writer
    const sessions = [...gone.keys()]
    const state = await transact(store, limits.transactionAttemptsMax, async (transaction) => {
      const catalog = await catalogs.at(transaction.snapshot)
      const { values } = await transaction.read(sessions.map(heartbeatKey))
      const stillGone = sessions.filter((other, i) => isSame(values[i], gone.get(other)))
      const next = withoutWorksOf(new Set(stillGone), catalog.state, session.number)
      if (next === catalog.state) return next
      for (const other of stillGone) {
        const sign = gone.get(other)
        transaction.expectAsRead(heartbeatKey(other), sign)
        if (sign !== undefined) transaction.delete(heartbeatKey(other))
      }
      transaction.expectRevision(catalogVersionKey, catalog.version)
      await changeCatalog(transaction, catalog, next, session)
      return next
    })
    for (const index of state.indexes) if (isOwnBuild(index, session.number)) this.builds.startInBackground(index)
    this.writer.purgeInBackground()
  }
}

function withoutWorksOf(gone: ReadonlySet<number>, state: CatalogState, heir: number): CatalogState {
  let next = withoutPendingOf(state, gone)
  for (const index of next.indexes) {
    if (index.state !== 'building' || !gone.has(index.session ?? 0)) continue
    next = index.isBackground === true ? withIndexOf(next, index.number, heir) : withoutIndex(next, index.number)
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
