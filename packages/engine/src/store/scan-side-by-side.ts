/** Scans several ranges: one after the other, or concurrently if each page is a round trip to one of several nodes. */
import type { Bytes, KeyRange, ScanOptions, Snapshot, StoreCapabilities } from './store.ts'

/** So many at a time; each holds a batch. */
const scansMax = 4

/** How many ranges are worth scanning at a time. */
export function scansAtOnce({ isDistributed }: StoreCapabilities): number {
  return isDistributed ? scansMax : 1
}

type CopiedEntry = readonly [Bytes, Bytes]

/**
 * The entries of all ranges in batches, those of each range in its order. With one scan at a time all are in the order of the ranges;
 * with more, batches take turns, the same whenever the same is stored. `use` is called for one batch at a time, just before it is given.
 */
export async function* scanSideBySide<T>(
  snapshot: Snapshot,
  ranges: readonly KeyRange[],
  use: (key: Bytes, value: Bytes) => T,
  atOnce: number,
  options: Pick<ScanOptions, 'keysOnly' | 'batch' | 'slice'> = {},
): AsyncGenerator<T[]> {
  if (atOnce === 1 || ranges.length === 1) {
    for (const range of ranges) yield* snapshot.scan(range, use, options)
    return
  }
  // Batches come while others are used: until then they are kept, and so copied.
  const copied = (key: Bytes, value: Bytes): CopiedEntry => [Buffer.from(key), Buffer.from(value)]
  const scans: { readonly batches: AsyncIterator<CopiedEntry[]>; next: Promise<IteratorResult<CopiedEntry[]>> }[] = []
  let begun = 0
  try {
    for (;;) {
      while (scans.length < atOnce && begun < ranges.length) {
        const batches = snapshot.scan(ranges[begun++] as KeyRange, copied, options)[Symbol.asyncIterator]()
        scans.push({ batches, next: ahead(batches) })
      }
      const scan = scans.shift()
      if (scan === undefined) return
      const { done, value } = await scan.next
      if (done === true) continue
      scan.next = ahead(scan.batches)
      scans.push(scan)
      yield value.map(([key, bytes]) => use(key, bytes))
    }
  } finally {
    await Promise.all(scans.map(({ batches }) => batches.return?.()))
  }
}

/** Whoever asks for no more does not hear of a failure. */
function ahead(batches: AsyncIterator<CopiedEntry[]>): Promise<IteratorResult<CopiedEntry[]>> {
  const next = batches.next()
  next.catch(() => undefined)
  return next
}
