/** Reads a range of any size: a short one in one trip, a longer one with turns for others in between. */
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
