/** A snapshot of a store in memory: one version of the sorted tree. */

import type { AshlarError } from '../../errors.ts'
import { scanBatchBytes } from '../../limits.ts'
import { type PersistentTree, treeEntries, treeGet } from '../persistent-tree.ts'
import type { Bytes, Entry, KeyRange, RangeRead, ReadAnswer, ScanOptions, Snapshot, SnapshotOptions } from '../store.ts'
import { openTimeSlice } from '../time-slice.ts'
import type { BorrowTracker } from './borrowed-bytes.ts'

const batchEntriesDefault = 256
const nothing = Buffer.alloc(0)

export interface MemorySnapshot extends Snapshot {
  readonly openedAtMs: number
  readonly options: SnapshotOptions | undefined
  end(error: AshlarError): void
}

/** `ended` is called once, at the first release. */
export function openMemorySnapshot(
  version: PersistentTree | undefined,
  borrows: BorrowTracker,
  ended: (snapshot: MemorySnapshot) => void,
  options?: SnapshotOptions,
): MemorySnapshot {
  let endedBy: AshlarError | undefined
  let isReleased = false
  function openVersion(): PersistentTree | undefined {
    if (isReleased) throw endedBy ?? new Error('The snapshot is released and cannot be read any more.')
    borrows.invalidate()
    return version
  }

  async function* scan<T>(range: KeyRange, use: (key: Bytes, value: Bytes) => T, options: ScanOptions = {}) {
    const batch = options.batch ?? batchEntriesDefault
    const limit = options.limit ?? Number.POSITIVE_INFINITY
    const slice = options.slice ?? openTimeSlice()
    let taken = 0
    let results: T[] = []
    let bytes = 0
    if (limit <= 0) return
    for (const entry of treeEntries(openVersion(), range, options.reverse === true)) {
      openVersion()
      results.push(borrows.borrow(entry.key, options.keysOnly === true ? nothing : entry.value, use))
      taken += 1
      bytes += entry.value.length
      if (taken >= limit) break
      if (results.length < batch && bytes < scanBatchBytes) continue
      yield results
      results = []
      bytes = 0
      const pause = slice.yieldIfDue()
      if (pause !== undefined) await pause
    }
    if (results.length > 0) yield results
  }

  const snapshot: MemorySnapshot = {
    openedAtMs: performance.now(),
    options,
    view(key, use) {
      const value = treeGet(openVersion(), key)
      return value === undefined ? undefined : borrows.borrow(value, nothing, use)
    },
    read(keys, ranges = []) {
      const tree = openVersion()
      return readFrom(tree, keys, ranges)
    },
    scan,
    visit(range, isReverse, use) {
      for (const { key, value } of treeEntries(openVersion(), range, isReverse)) {
        if (!borrows.borrow(key, value, use)) return key
      }
      return undefined
    },
    release() {
      if (isReleased) return
      isReleased = true
      ended(snapshot)
    },
    end(error) {
      endedBy = error
      snapshot.release()
    },
  }
  return snapshot
}

function readFrom(tree: PersistentTree | undefined, keys: readonly Bytes[], ranges: readonly RangeRead[]): ReadAnswer {
  const values = keys.map((key) => {
    const value = treeGet(tree, key)
    return value === undefined ? undefined : Buffer.from(value)
  })
  return { values, ranges: ranges.map((range) => readRange(tree, range)) }
}

function readRange(tree: PersistentTree | undefined, range: RangeRead): readonly Entry[] {
  const limit = range.limit ?? Number.POSITIVE_INFINITY
  const entries: Entry[] = []
  if (limit <= 0) return entries
  for (const { key, value } of treeEntries(tree, range, range.reverse === true)) {
    entries.push({ key: Buffer.from(key), value: Buffer.from(value) })
    if (entries.length >= limit) break
  }
  return entries
}
