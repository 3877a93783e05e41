/** Implements the snapshot of a store with synchronous reads in terms of two functions of the driver. */
import type { AshlarError } from '../errors.ts'
import { scanBatchBytes } from '../limits.ts'
import type { OpenSnapshots } from './open-snapshots.ts'
import type { Bytes, Entry, KeyRange, RangeRead, ScanOptions, Snapshot, SnapshotOptions } from './store.ts'
import { openTimeSlice } from './time-slice.ts'

/** The state of the store at one point in time. Bytes are valid until the next call or longer. */
export interface EntrySource {
  get(key: Bytes): Bytes | undefined
  entries(range: KeyRange, isReverse: boolean): Iterable<Entry>
}

/** Passes borrowed bytes to `use`. */
export type Borrow = <T>(first: Bytes, second: Bytes, use: (first: Bytes, second: Bytes) => T) => T

export interface LocalSnapshot extends Snapshot {
  readonly openedAtMs: number
  readonly options: SnapshotOptions | undefined
  end(error: AshlarError): void
}

const batchEntriesDefault = 256
const nothing = Buffer.alloc(0)

/** `open` contains the snapshot until its release, which calls `onRelease`. */
export function openLocalSnapshot(
  source: EntrySource,
  open: OpenSnapshots<LocalSnapshot>,
  options: SnapshotOptions | undefined,
  onRelease: () => void = () => {},
  borrow: Borrow = (first, second, use) => use(first, second),
): LocalSnapshot {
  let endedBy: AshlarError | undefined
  let isReleased = false
  function current(): EntrySource {
    if (isReleased) throw endedBy ?? new Error('The snapshot is released and cannot be read any more.')
    return source
  }

  const snapshot: LocalSnapshot = {
    openedAtMs: performance.now(),
    options,
    view(key, use) {
      const value = current().get(key)
      return value === undefined ? undefined : borrow(value, nothing, use)
    },
    read(keys, ranges = []) {
      const source = current()
      const values = keys.map((key) => {
        const value = source.get(key)
        return value === undefined ? undefined : Buffer.from(value)
      })
      return { values, ranges: ranges.map((range) => readRange(source, range)) }
    },
    scan: (range, use, options) => scanEntries(current, borrow, range, use, options),
    visit(range, isReverse, use) {
      for (const { key, value } of current().entries(range, isReverse)) if (!borrow(key, value, use)) return key
      return undefined
    },
    release() {
      if (isReleased) return
      isReleased = true
      open.remove(snapshot)
      onRelease()
    },
    end(error) {
      endedBy = error
      snapshot.release()
    },
  }
  return open.add(snapshot)
}

/** `current` throws if the snapshot was released meanwhile. */
async function* scanEntries<T>(
  current: () => EntrySource,
  borrow: Borrow,
  range: KeyRange,
  use: (key: Bytes, value: Bytes) => T,
  options: ScanOptions = {},
): AsyncGenerator<T[]> {
  const { batch = batchEntriesDefault, limit = Number.POSITIVE_INFINITY, slice = openTimeSlice() } = options
  let count = 0
  let results: T[] = []
  let bytes = 0
  if (limit <= 0) return
  for (const entry of current().entries(range, options.reverse === true)) {
    current()
    results.push(borrow(entry.key, options.keysOnly === true ? nothing : entry.value, use))
    count += 1
    bytes += entry.value.length
    if (count >= limit) break
    if (results.length < batch && bytes < scanBatchBytes) continue
    yield results
    results = []
    bytes = 0
    const pause = slice.yieldIfDue()
    if (pause !== undefined) await pause
    current()
  }
  if (results.length > 0) yield results
}

function readRange(source: EntrySource, range: RangeRead): readonly Entry[] {
  const limit = range.limit ?? Number.POSITIVE_INFINITY
  const entries: Entry[] = []
  if (limit <= 0) return entries
  for (const { key, value } of source.entries(range, range.reverse === true)) {
    entries.push({ key: Buffer.from(key), value: Buffer.from(value) })
    if (entries.length >= limit) break
  }
  return entries
}
