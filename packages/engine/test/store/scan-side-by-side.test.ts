/** Scans side by side give the same entries as one after the other, those of each range in its order, and the same each time. */
import { describe, expect, it } from 'vitest'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { scanSideBySide } from '../../src/store/scan-side-by-side.ts'
import type { Bytes, KeyRange, Snapshot } from '../../src/store/store.ts'
import { seededRandom } from './wrappers/seeded-random.ts'

const seed = Number(process.env.ASHLAR_SEED ?? Math.floor(Math.random() * 2 ** 31))

const shown = (key: Bytes, value: Bytes): string =>
  `${Buffer.from(key).toString('hex')} ${Buffer.from(value).toString()}`

async function scanned(
  snapshot: Snapshot,
  ranges: readonly KeyRange[],
  runToEnd: number,
  batch: number,
): Promise<string[]> {
  const entries: string[] = []
  for await (const some of scanSideBySide(snapshot, ranges, shown, runToEnd, { batch })) entries.push(...some)
  return entries
}

/** Answers each batch after a while that is another each time. */
function slowed(snapshot: Snapshot, random: () => number): Snapshot {
  return {
    view: (key, use) => snapshot.view(key, use),
    read: (keys, ranges) => snapshot.read(keys, ranges),
    release: () => snapshot.release(),
    async *scan(range, use, options) {
      for await (const batch of snapshot.scan(range, use, options)) {
        for (let turns = Math.floor(random() * 5); turns > 0; turns--) await new Promise(setImmediate)
        yield batch
      }
    },
  }
}

describe('scans side by side', () => {
  it(`give what scans one after the other give, in an order that does not depend on who answers first (seed ${seed})`, async () => {
    const random = seededRandom(seed)
    for (let round = 0; round < 30; round++) {
      const store = await openMemoryStore()
      const containers = 1 + Math.floor(random() * 9)
      const ranges = Array.from({ length: containers }, (_, i) => ({
        from: Buffer.from([3, i]),
        to: Buffer.from([3, i + 1]),
      }))
      const places = Array.from({ length: Math.floor(random() * 200) }, () => Math.floor(random() * containers * 256))
      const changes = [...new Set(places)].map((place, i) => {
        return { kind: 'put', key: Buffer.from([3, place >> 8, place & 255]), value: Buffer.from(`${i}`) } as const
      })
      await store.commit({ changes, preconditions: [] })
      const snapshot = await store.snapshot()
      const batch = 1 + Math.floor(random() * 20)
      const sequential = await scanned(snapshot, ranges, 1, batch)
      const one = await scanned(slowed(snapshot, random), ranges, 4, batch)
      const other = await scanned(slowed(snapshot, random), ranges, 4, batch)
      expect(other).toEqual(one)
      expect([...one].sort()).toEqual(sequential)
      for (const { from } of ranges) {
        const start = from.toString('hex')
        expect(one.filter((entry) => entry.startsWith(start))).toEqual(
          sequential.filter((entry) => entry.startsWith(start)),
        )
      }
      snapshot.release()
      await store.close()
    }
  })

  it('end with the failure of one, and when no more is asked for', async () => {
    const store = await openMemoryStore()
    const ranges = [1, 2, 3].map((i) => ({ from: Buffer.from([3, i]), to: Buffer.from([3, i + 1]) }))
    const changes = ranges.map(({ from }) => ({ kind: 'put', key: from, value: Buffer.from('a') }) as const)
    await store.commit({ changes, preconditions: [] })
    const snapshot = await store.snapshot()
    let ended = 0
    const failing: Snapshot = {
      ...slowed(snapshot, () => 0),
      async *scan(range, use, options) {
        try {
          if (range.from?.[1] === 2) throw new Error('out of reach')
          yield* snapshot.scan(range, use, options)
        } finally {
          ended++
        }
      },
    }
    await expect(scanned(failing, ranges, 3, 1)).rejects.toThrow('out of reach')
    expect(ended).toBe(3)
    ended = 0
    for await (const _batch of scanSideBySide(failing, [ranges[0] as KeyRange, ranges[2] as KeyRange], shown, 2)) break
    expect(ended).toBe(2)
    snapshot.release()
    await store.close()
  })
})
