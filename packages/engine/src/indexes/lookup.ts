/** Reads index entries for queries: OIDs of a range, and counts. */
import { mapAwaitable } from '../store/awaitable.ts'
import { countRange } from '../store/count-range.ts'
import type { Awaitable, Bytes, KeyRange, ScanOptions, Snapshot } from '../store/store.ts'
import { type Oid, oidFromBytes } from '../types/oid.ts'

const oidOfEntry = (_key: Uint8Array, value: Uint8Array): Oid => oidFromBytes(value, 0)

interface OidsOptions {
  readonly limit?: number
  readonly batch?: number | undefined
  /** Filters entries by key; batches may then be shorter or empty. */
  readonly keyFilter?: ((key: Bytes) => boolean) | undefined
}

export function readIndexOids(
  snapshot: Snapshot,
  range: KeyRange,
  isReverse: boolean,
  { limit, batch, keyFilter }: OidsOptions = {},
): AsyncIterable<Oid[]> {
  const options = {
    reverse: isReverse,
    ...(limit === undefined ? {} : { limit: Math.max(1, limit) }),
    ...(batch === undefined ? {} : { batch }),
  }
  return keyFilter === undefined
    ? snapshot.scan(range, oidOfEntry, options)
    : filteredOids(snapshot, range, keyFilter, options)
}

async function* filteredOids(
  snapshot: Snapshot,
  range: KeyRange,
  keyFilter: (key: Bytes) => boolean,
  options: ScanOptions,
): AsyncGenerator<Oid[]> {
  const use = (key: Bytes, value: Bytes): Oid | undefined => (keyFilter(key) ? oidFromBytes(value, 0) : undefined)
  for await (const batch of snapshot.scan(range, use, options)) yield batch.filter((oid) => oid !== undefined)
}

/** Reads the entries with exactly these keys, in one round trip. */
export function readIndexOidsOf(snapshot: Snapshot, keys: readonly Uint8Array[]): Awaitable<Oid[]> {
  const [key] = keys
  if (keys.length === 1 && key !== undefined) {
    return mapAwaitable(
      snapshot.view(key, (value) => oidFromBytes(value, 0)),
      (oid) => (oid === undefined ? [] : [oid]),
    )
  }
  return mapAwaitable(snapshot.read(keys), ({ values }) =>
    values.filter((value) => value !== undefined).map((value) => oidFromBytes(value, 0)),
  )
}

export interface IndexEntry {
  readonly key: Buffer
  readonly oid: Oid
}

/** Includes the keys, for callers that have to detect truncated texts. */
export function readIndexEntries(
  snapshot: Snapshot,
  range: KeyRange,
  isReverse: boolean,
  batch: number,
): AsyncIterable<IndexEntry[]> {
  const use = (key: Uint8Array, value: Uint8Array): IndexEntry => ({
    key: Buffer.from(key),
    oid: oidFromBytes(value, 0),
  })
  return snapshot.scan(range, use, { reverse: isReverse, batch })
}

/** Exact below `max`, otherwise `max`; used to choose an access path. */
export function countLimited(snapshot: Snapshot, range: KeyRange, max: number): Promise<number> {
  return countRange(snapshot, range, { max: Math.max(1, max), isEstimate: true })
}
