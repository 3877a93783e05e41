/** Reads a range of any size: a short one in one round trip, a longer one in batches, yielding in between, or only its beginning. */
import type { Bytes, Entry, KeyRange, Snapshot } from './store.ts'

const entriesInFirstTrip = 1_000

/** The bytes belong to the caller. */
export async function readFullRange(snapshot: Snapshot, range: KeyRange): Promise<readonly Entry[]> {
  const { ranges } = await snapshot.read([], [{ ...range, limit: entriesInFirstTrip }])
  return withRest(snapshot, range, ranges[0] ?? [], entriesInFirstTrip)
}

/** `first`: the beginning of the range, read up to a limit. */
async function withRest(
  snapshot: Snapshot,
  { to }: KeyRange,
  first: readonly Entry[],
  limit: number,
): Promise<readonly Entry[]> {
  const last = first.at(-1)
  if (first.length < limit || last === undefined) return first
  const all = [...first]
  const from = Buffer.concat([last.key, Buffer.from([0])])
  const copy = (key: Bytes, value: Bytes): Entry => ({ key: Buffer.from(key), value: Buffer.from(value) })
  for await (const batch of snapshot.scan(to === undefined ? { from } : { from, to }, copy)) {
    for (const entry of batch) all.push(entry)
  }
  return all
}

/** Bounds of a part of a range, or of several. */
export interface PartBounds {
  readonly entriesMax: number
  /** Bytes of values as read, without the last batch of the scan; `use` decides which of them to retain. */
  readonly bytesMax: number
}

export interface RangePart<T> {
  readonly results: T[]
  /** The key of the last entry; undefined if the range is empty. */
  readonly last: Buffer | undefined
  /** The size of the part, for bounds that several ranges share. */
  readonly entries: number
  readonly bytes: number
  readonly isComplete: boolean
}

/** Passes borrowed entries of a range to `use`, up to the bounds; omits undefined results. Buffers one batch of the scan, and the results. */
export async function readPart<T>(
  snapshot: Snapshot,
  range: KeyRange,
  use: (key: Bytes, value: Bytes) => T | undefined,
  { entriesMax, bytesMax }: PartBounds,
): Promise<RangePart<T>> {
  const results: T[] = []
  let [entries, bytes] = [0, 0]
  let last: Buffer | undefined
  const counted = (key: Bytes, value: Bytes): T | undefined => {
    entries++
    bytes += value.length
    last = Buffer.from(key)
    return use(key, value)
  }
  for await (const batch of snapshot.scan(range, counted, { limit: entriesMax, batch: entriesMax })) {
    for (const result of batch) if (result !== undefined) results.push(result)
    if (bytes >= bytesMax) return { results, last, entries, bytes, isComplete: false }
  }
  return { results, last, entries, bytes, isComplete: entries < entriesMax }
}
