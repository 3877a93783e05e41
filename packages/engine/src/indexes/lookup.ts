/** Index entries read for queries: the OIDs of a range, and how many there are. */
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable, KeyRange, Snapshot } from '../store/store.ts'
import { type Oid, oidFromBytes } from '../types/oid.ts'

const oidOfEntry = (_key: Uint8Array, value: Uint8Array): Oid => oidFromBytes(value, 0)

/** In the order of the index, in batches; up to `limit`, if there is one. */
export function readIndexOids(
  snapshot: Snapshot,
  range: KeyRange,
  isReverse: boolean,
  { limit, batch }: { readonly limit?: number; readonly batch?: number | undefined } = {},
): AsyncIterable<Oid[]> {
  const options = {
    reverse: isReverse,
    ...(limit === undefined ? {} : { limit: Math.max(1, limit) }),
    ...(batch === undefined ? {} : { batch }),
  }
  return snapshot.scan(range, oidOfEntry, options)
}

/** Of the entries with these very keys, as far as there are any; all in one trip. */
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

/** With their keys, for those who look at where texts are cut. */
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

/** Exact below `max`, and `max` where there are as many or more. */
export async function countLimited(snapshot: Snapshot, range: KeyRange, max: number): Promise<number> {
  let count = 0
  const options = { keysOnly: true, limit: Math.max(1, max) }
  for await (const batch of snapshot.scan(range, () => undefined, options)) count += batch.length
  return count
}
