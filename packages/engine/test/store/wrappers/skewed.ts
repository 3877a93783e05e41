/**
 * A store whose snapshots are not consistent, as that of a distributed table: each placement is read as of a moment of its own,
 * while commits stay exact. What a change concludes from two reads may so never have been true at once.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { keyPlacement } from '../../../src/storage/key-placement.ts'
import type { Bytes, Commit, CommitOutcome, Entry, RangeRead, Snapshot, Store } from '../../../src/store/store.ts'
import { seededRandom } from './seeded-random.ts'

const { placementOf } = keyPlacement

export interface Skew {
  readonly seed: number
  /**
   * How many acknowledged commits a read may lag behind. 0: what was acknowledged before the snapshot is seen by it, as on a
   * real store; only commits under way are seen by one placement and not by another. Above, no client's view is to be trusted:
   * that finds conclusions that no precondition covers without any concurrency.
   */
  readonly lag?: number
}

export interface SkewedStore extends Store {
  /** While true, snapshots show the latest commit, for those who look at the outcome. */
  isExact: boolean
}

/** Of these versions, the latest ones, each placement is read as of one. */
const versionsMax = 8
const delayTurnsMax = 3

/** `store` answers at once (as that in memory does), and is used by nobody else. */
export function skewed(store: Store, { seed, lag = 0 }: Skew): SkewedStore {
  const random = seededRandom(seed)
  const below = (bound: number): number => Math.floor(random() * bound)
  const versions = [store.snapshot() as Snapshot]
  let acknowledged = 0
  /** Nothing older is shown: the latest version when the first skewed snapshot was opened, or a whole one since. */
  let oldest: number | undefined
  /** What one snapshot has seen of a placement, later ones see too. */
  const seen = new Map<number, number>()
  let commits: Promise<unknown> = Promise.resolve()

  async function pause(): Promise<void> {
    for (let turns = below(delayTurnsMax + 1); turns > 0; turns--) await nextTurn()
  }

  async function apply(commit: Commit): Promise<CommitOutcome> {
    const outcome = await store.commit(commit)
    if (outcome.isCommitted) versions.push(store.snapshot() as Snapshot)
    return outcome
  }

  /** Commits begun meanwhile are made when the result is called. */
  async function keepCommitsOut(): Promise<() => void> {
    const before = commits
    let end = (): void => {}
    commits = new Promise<void>((resolve) => {
      end = resolve
    })
    await before
    return end
  }

  const skewedStore: SkewedStore = {
    ...store,
    isExact: false,
    capabilities: {
      ...store.capabilities,
      hasSynchronousReads: false,
      hasConsistentSnapshots: false,
      isDistributed: true,
    },
    async snapshot(options) {
      if (!skewedStore.isExact) oldest ??= acknowledged
      const floor = Math.max(oldest ?? 0, acknowledged - lag)
      const end = options?.isolation === 'consistent' ? await keepCommitsOut() : () => undefined
      const isExact = skewedStore.isExact || options?.isolation === 'consistent'
      const latest = versions.length - 1
      if (options?.isolation === 'consistent') oldest = latest
      const moments = new Map<number, Snapshot>()
      const momentOf = (key: Bytes): Snapshot => {
        const placement = placementOf(key)
        let moment = moments.get(placement)
        if (moment === undefined) {
          const from = isExact ? latest : Math.max(floor, seen.get(placement) ?? 0, versions.length - versionsMax)
          const chosen = from + (isExact ? 0 : below(versions.length - from))
          moment = versions[chosen] as Snapshot
          moments.set(placement, moment)
          if (lag === 0) seen.set(placement, Math.max(chosen, seen.get(placement) ?? 0))
        }
        return moment
      }
      const candidates = (): Iterable<Snapshot> => new Set([...moments.values(), ...versions.slice(-versionsMax)])
      return skewedSnapshot(momentOf, candidates, pause, end)
    },
    async commit(commit) {
      await pause()
      const applied = commits.then(() => apply(commit))
      commits = applied.catch(() => undefined)
      const outcome = await applied
      const version = versions.length - 1
      await pause()
      if (outcome.isCommitted) acknowledged = Math.max(acknowledged, version)
      return outcome
    },
  }
  return skewedStore
}

function skewedSnapshot(
  momentOf: (key: Bytes) => Snapshot,
  candidates: () => Iterable<Snapshot>,
  pause: () => Promise<void>,
  end: () => void,
): Snapshot {
  const readKey = (key: Bytes): Bytes | undefined => valueAt(momentOf(key), key)
  function readRange(range: RangeRead): Entry[] {
    const { from = Buffer.alloc(1), to } = range
    const first = momentOf(from)
    const isWithinPlacement = to !== undefined && placementOf(from) === placementOf(to)
    const found = new Map<string, Entry>()
    for (const version of isWithinPlacement ? [first] : candidates()) {
      for (const entry of entriesAt(version, range)) found.set(Buffer.from(entry.key).toString('latin1'), entry)
    }
    const entries = [...found.values()].flatMap(({ key }) => {
      const value = readKey(key)
      return value === undefined ? [] : [{ key, value }]
    })
    entries.sort((one, other) => Buffer.compare(one.key, other.key) * (range.reverse === true ? -1 : 1))
    return entries.slice(0, range.limit)
  }
  return {
    async view(key, use) {
      await pause()
      const value = readKey(key)
      return value === undefined ? undefined : use(value)
    },
    async read(keys, ranges = []) {
      await pause()
      return { values: keys.map(readKey), ranges: ranges.map(readRange) }
    },
    async *scan(range, use, options = {}) {
      await pause()
      const { reverse = false, limit, keysOnly = false, batch = 256 } = options
      const entries = readRange({ ...range, reverse, ...(limit === undefined ? {} : { limit }) })
      for (let at = 0; at < entries.length; at += batch) {
        yield entries.slice(at, at + batch).map(({ key, value }) => use(key, keysOnly ? Buffer.alloc(0) : value))
      }
    },
    release: end,
  }
}

function valueAt(version: Snapshot, key: Bytes): Bytes | undefined {
  return version.view(key, (value) => Buffer.from(value)) as Bytes | undefined
}

function entriesAt(version: Snapshot, { from, to }: RangeRead): readonly Entry[] {
  const range = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
  const { ranges } = version.read([], [range]) as Exclude<ReturnType<Snapshot['read']>, Promise<unknown>>
  return ranges[0] ?? []
}
