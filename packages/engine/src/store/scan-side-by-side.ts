/** Scans several ranges: one after the other, or concurrently if each page is a round trip to one of several nodes. */
import type { Bytes, KeyRange, ScanOptions, Snapshot, StoreCapabilities } from './store.ts'

/** Maximum number of concurrent scans; each buffers a batch. */
const scansMax = 4

export function concurrentScans({ isDistributed }: StoreCapabilities): number {
  return isDistributed ? scansMax : 1
}

type CopiedEntry = readonly [Bytes, Bytes]

/**
 * The entries of all ranges in batches, in order within each range. With one scan at a time the ranges are in order
 * too; with more, batches alternate, deterministically for the same content. `use` is called for one batch at a time,
 * just before it is yielded.
 */
export async function* scanSideBySide<T>(
  snapshot: Snapshot,
  ranges: readonly KeyRange[],
  use: (key: Bytes, value: Bytes) => T,
  concurrency: number,
  options: Pick<ScanOptions, 'keysOnly' | 'batch' | 'slice'> = {},
): AsyncGenerator<T[]> {
  if (concurrency === 1 || ranges.length === 1) {
    for (const range of ranges) yield* snapshot.scan(range, use, options)
    return
  }
  // Batches are read ahead, and their borrowed bytes therefore copied.
  const copied = (key: Bytes, value: Bytes): CopiedEntry => [Buffer.from(key), Buffer.from(value)]
  const scans: { readonly batches: AsyncIterator<CopiedEntry[]>; next: Promise<IteratorResult<CopiedEntry[]>> }[] = []
  let started = 0
  try {
    for (;;) {
      while (scans.length < concurrency && started < ranges.length) {
        const batches = snapshot.scan(ranges[started++] as KeyRange, copied, options)[Symbol.asyncIterator]()
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

/** A failure of the batch read ahead is not reported if the consumer stops. */
function ahead(batches: AsyncIterator<CopiedEntry[]>): Promise<IteratorResult<CopiedEntry[]>> {
  const next = batches.next()
  next.catch(() => undefined)
  return next
}
