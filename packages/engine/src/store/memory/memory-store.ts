/** The store in memory: the same semantics as the durable ones, for tests and experiments. */
import { assert } from '../../errors.ts'
import { commitLockMsMax } from '../../limits.ts'
import { appendedNumber, appendedPuts, appendedRange } from '../append.ts'
import { checkedCommitBytes } from '../check-commit.ts'
import { type CurrentState, failedPrecondition } from '../check-preconditions.ts'
import { type CommitCounts, countGroup, newCommitCounts } from '../commit-counts.ts'
import { type EntrySource, type LocalSnapshot, openLocalSnapshot } from '../local-snapshot.ts'
import { trackOpenSnapshots } from '../open-snapshots.ts'
import { type PersistentTree, treeEntries, treeGet, treeWith, treeWithout } from '../persistent-tree.ts'
import type { Bytes, Commit, CommitLock, CommitOutcome, Store, StoreCapabilities } from '../store.ts'
import { type BorrowTracker, trackBorrows } from './borrowed-bytes.ts'

type Tree = PersistentTree | undefined

// The same limits as LMDB, so that whatever works in memory works there.
const capabilities: StoreCapabilities = {
  kind: 'memory',
  location: 'memory',
  isDurable: false,
  hasSynchronousReads: true,
  hasConsistentSnapshots: true,
  isDistributed: false,
  canAppend: true,
  keyBytesMax: 1_978,
  valueBytesMax: 16_777_216,
}

export async function openMemoryStore(): Promise<Store> {
  const borrows = trackBorrows()
  const snapshots = trackOpenSnapshots<LocalSnapshot>()
  let current: Tree
  let bytes = 0
  const counts = newCommitCounts()
  let lastCommit: Promise<unknown> = Promise.resolve()
  let isClosed = false
  let lock: MemoryLock | undefined

  function apply(commit: Commit): CommitOutcome {
    const failed = failedPrecondition(commit.preconditions, stateOf(current))
    if (failed !== undefined) return { isCommitted: false, failed }
    let changed: Tree
    const appended =
      commit.append === undefined ? [] : appendedPuts(commit.append, nextNumber(current, commit.append.prefix))
    for (const change of [...commit.changes, ...appended]) {
      assert(treeGet(changed, change.key) === undefined, 'a commit changes no key twice')
      changed = treeWith(changed, change.key, change.key)
      const before = treeGet(current, change.key)
      if (before !== undefined) bytes -= change.key.length + before.length
      if (change.kind === 'put') {
        bytes += change.key.length + change.value.length
        current = treeWith(current, Buffer.from(change.key), Buffer.from(change.value))
      } else if (before !== undefined) current = treeWithout(current, change.key)
    }
    return { isCommitted: true }
  }

  return {
    capabilities,
    snapshot(options) {
      assert(!isClosed, 'a snapshot is asked for before the store is closed')
      return openLocalSnapshot(sourceOf(current, borrows), snapshots, options, undefined, borrows.borrow)
    },
    ...snapshots.storeMethods,
    async commit(commit) {
      assert(!isClosed, 'a commit reaches the store before it is closed')
      checkedCommitBytes(commit, capabilities)
      const isByHolder = lock?.isActive === true && commit.lock === lock
      if (commit.isReservation === true) lock?.release()
      // Applied asynchronously, as on a disk: other commits may come between the call and its result.
      const outcome = (isByHolder ? Promise.resolve() : lastCommit).then(() => counted(counts, apply(commit)))
      if (isByHolder) void outcome.then(() => commit.lock?.release())
      else lastCommit = outcome
      return outcome
    },
    async lockCommits() {
      const before = lastCommit
      const made = new MemoryLock()
      lastCommit = before.then(() => made.ended)
      await before
      lock = made.hold()
      return made
    },
    counts,
    async stats() {
      assert(!isClosed, 'statistics are asked for before the store is closed')
      return { entries: current?.size ?? 0, bytes, usedBytes: bytes }
    },
    async close() {
      isClosed = true
      await lastCommit
      snapshots.releaseAll()
    },
  }
}

function counted(counts: CommitCounts, outcome: CommitOutcome): CommitOutcome {
  countGroup(counts, [outcome])
  return outcome
}

class MemoryLock implements CommitLock {
  isActive = false
  private timer: NodeJS.Timeout | undefined
  private end!: () => void
  readonly ended = new Promise<void>((resolve) => {
    this.end = resolve
  })

  hold(): this {
    this.isActive = true
    this.timer = setTimeout(() => this.release(), commitLockMsMax)
    return this
  }

  release(): void {
    this.isActive = false
    clearTimeout(this.timer)
    this.end()
  }
}

/** Reads invalidate borrowed bytes, as on other drivers. */
function sourceOf(tree: Tree, borrows: BorrowTracker): EntrySource {
  return {
    get(key) {
      borrows.invalidate()
      return treeGet(tree, key)
    },
    entries(range, isReverse) {
      borrows.invalidate()
      return treeEntries(tree, range, isReverse)
    },
  }
}

function nextNumber(tree: Tree, prefix: Bytes): number {
  for (const { key } of treeEntries(tree, appendedRange(prefix), true)) return appendedNumber(key) + 1
  return 1
}

function stateOf(tree: Tree): CurrentState {
  return {
    get: (key) => treeGet(tree, key),
    *keys(range, limit) {
      let left = limit
      for (const entry of treeEntries(tree, range, false)) {
        if (left <= 0) return
        left -= 1
        yield entry.key
      }
    },
    visit(range, use) {
      for (const { key, value } of treeEntries(tree, range, false)) if (!use(key, value)) return key
      return undefined
    },
  }
}
