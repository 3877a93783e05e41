/** Reads a range of any size: a short one in one trip, a longer one with turns for others in between, or only its beginning. */
import type { Bytes, Entry, KeyRange, Snapshot } from './store.ts'

const entriesInFirstTrip = 1_000

/** The bytes belong to the caller. */
export async function readWholeRange(snapshot: Snapshot, range: KeyRange): Promise<readonly Entry[]> {
  const { ranges } = await snapshot.read([], [{ ...range, limit: entriesInFirstTrip }])
  return withRest(snapshot, range, ranges[0] ?? [], entriesInFirstTrip)
}

/** `first`: what there is of the range, read up to a limit. */
export async function withRest(
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

/** What the beginning of a range may take in memory, its last entry aside. */
const beginningBytesMax = 4 * 2 ** 20

/**
 * The first entries of a range, at most `entriesMax`, and fewer where they are large; `isWhole` where there are no others. The bytes belong to
 * the caller. A store that takes a trip for each page reads `entriesMax` of any size.
 */
export async function readBeginning(
  snapshot: Snapshot,
  range: KeyRange,
  entriesMax: number,
): Promise<{ readonly entries: readonly Entry[]; readonly isWhole: boolean }> {
  const entries: Entry[] = []
  let bytes = 0
  const copy = (key: Bytes, value: Bytes): Entry => ({ key: Buffer.from(key), value: Buffer.from(value) })
  for await (const batch of snapshot.scan(range, copy, { limit: entriesMax, batch: entriesMax })) {
    for (const entry of batch) {
      entries.push(entry)
      bytes += entry.value.length
    }
    if (bytes >= beginningBytesMax) return { entries, isWhole: false }
  }
  return { entries, isWhole: entries.length < entriesMax }
}
