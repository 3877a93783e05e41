/** LMDB: ranges of many entries are read leaf by leaf from the file, and show what the cursor shows. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countRange } from '../../src/store/count-range.ts'
import { nodeAt, nodeHeaderBytes, pageFlag, pageHeader, pageHeaderBytes } from '../../src/store/lmdb/data-file.ts'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import type { Bytes, CountedEntries, KeyRange, Snapshot, Store } from '../../src/store/store.ts'
import { commitOf, put, remove } from './bytes.ts'
import { temporaryDirectory } from './temporary-stores.ts'

const entries = 3_000

function keyOf(nth: number): string {
  return `key-${String(nth).padStart(6, '0')}${'x'.repeat(nth % 7)}`
}

/** Every 500th has pages of its own. */
function valueAt(nth: number): string {
  return nth % 500 === 499 ? `long-${nth}-`.repeat(2_000) : `value-${nth}-${'y'.repeat(nth % 31)}`
}

interface Filled {
  readonly store: Store
  readonly directory: string
}

async function filledStore(): Promise<Filled> {
  const directory = await temporaryDirectory()
  const store = await openLmdbStore(directory)
  // Not in their order, so that pages are split.
  const numbers = Array.from({ length: entries }, (_, nth) => (nth * 7) % entries)
  for (let from = 0; from < entries; from += 500)
    await store.commit(commitOf(numbers.slice(from, from + 500).map((nth) => put(keyOf(nth), valueAt(nth)))))
  return { store, directory }
}

/** What `visit` shows in one of the two directions, broken off after every `step` entries, which it is told of where `isTold`. */
function visited(snapshot: Snapshot, range: KeyRange, step: number, isTold = false, reverse = false): string[] {
  const shown: string[] = []
  let rest: KeyRange | undefined = range
  while (rest !== undefined) {
    let left = step
    const take = (key: Bytes, value: Bytes): boolean => {
      shown.push(`${Buffer.from(key)} ${Buffer.from(value)}`)
      return --left > 0
    }
    const last: Bytes | undefined = snapshot.visit?.(rest, reverse, take, isTold ? step : undefined)
    const behind: KeyRange | undefined =
      last && (reverse ? { to: Buffer.from(last) } : { from: Buffer.concat([last, Buffer.of(0)]) })
    rest = behind && { ...rest, ...behind }
  }
  return shown
}

async function scanned(snapshot: Snapshot, range: KeyRange, batch: number, reverse = false): Promise<string[]> {
  const shown: string[] = []
  const use = (key: Bytes, value: Bytes): string => `${Buffer.from(key)} ${Buffer.from(value)}`
  for await (const some of snapshot.scan(range, use, { batch, reverse })) shown.push(...some)
  return shown
}

const all = Array.from({ length: entries }, (_, nth) => `${keyOf(nth)} ${valueAt(nth)}`)

describe('lmdb: ranges of many entries', () => {
  it('show all that is between their ends, wherever they are broken off', async () => {
    const { store } = await filledStore()
    const snapshot = await store.snapshot()
    const ends = fc.tuple(fc.nat(entries), fc.nat(entries), fc.integer({ min: 1, max: 700 }))
    await fc.assert(
      fc.asyncProperty(ends, async ([one, other, step]) => {
        const [from, to] = one < other ? [one, other] : [other, one]
        const range = { from: Buffer.from(keyOf(from)), to: Buffer.from(keyOf(to)) }
        expect(visited(snapshot, range, step)).toEqual(all.slice(from, to))
        expect(visited(snapshot, range, step, true)).toEqual(all.slice(from, to))
        expect(await scanned(snapshot, range, step)).toEqual(all.slice(from, to))
        const backwards = all.slice(from, to).reverse()
        expect(visited(snapshot, range, step, false, true)).toEqual(backwards)
        expect(visited(snapshot, range, step, true, true)).toEqual(backwards)
        expect(await scanned(snapshot, range, step, true)).toEqual(backwards)
      }),
      { numRuns: 40 },
    )
    expect(visited(snapshot, {}, Number.POSITIVE_INFINITY)).toEqual(all)
    expect(visited(snapshot, {}, Number.POSITIVE_INFINITY, false, true)).toEqual(all.toReversed())
    snapshot.release()
    await store.close()
  })

  it('are counted as they are shown, up to a number, behind which the count goes on', async () => {
    const { store } = await filledStore()
    const snapshot = await store.snapshot()
    await fc.assert(
      fc.asyncProperty(fc.nat(entries), fc.nat(entries), fc.integer({ min: 1, max: 900 }), async (one, other, max) => {
        const [from, to] = one < other ? [one, other] : [other, one]
        const range = { from: Buffer.from(keyOf(from)), to: Buffer.from(keyOf(to)) }
        const counts: number[] = []
        for (let rest: KeyRange | undefined = range; rest !== undefined; ) {
          const counted: CountedEntries | undefined = snapshot.count?.(rest, max)
          counts.push(counted?.count ?? 0)
          rest = counted?.last && { ...range, from: Buffer.concat([counted.last, Buffer.of(0)]) }
        }
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(to - from)
        expect(counts.slice(0, -1).every((count) => count === max)).toBe(true)
        expect(await countRange(snapshot, range)).toBe(to - from)
        expect(await countRange(snapshot, range, { max })).toBe(Math.min(max, to - from))
      }),
      { numRuns: 100 },
    )
    snapshot.release()
    await store.close()
  })

  it('within others show what they show alone', async () => {
    const { store } = await filledStore()
    const snapshot = await store.snapshot()
    const batches = snapshot.scan({}, (key) => String(Buffer.from(key)), { batch: 100 })
    let seen = 0
    for await (const keys of batches) {
      expect(keys[0]).toBe(keyOf(seen))
      seen += keys.length
      const from = entries - 1 - seen
      const range = { from: Buffer.from(keyOf(Math.max(0, from))) }
      expect(visited(snapshot, range, 1_000)).toEqual(all.slice(Math.max(0, from)))
      expect(visited(snapshot, range, 1_000, false, true)).toEqual(all.slice(Math.max(0, from)).reverse())
    }
    expect(seen).toBe(entries)
    snapshot.release()
    await store.close()
  })

  it('go on after a use of an entry has thrown', async () => {
    const { store } = await filledStore()
    const snapshot = await store.snapshot()
    let left = 1_234
    const breakOff = (): void => {
      snapshot.visit?.({}, false, () => {
        if (--left === 0) throw new Error('enough')
        return true
      })
    }
    expect(breakOff).toThrow('enough')
    expect(visited(snapshot, {}, 777)).toEqual(all)
    snapshot.release()
    await store.close()
  })

  it('show what there was when the snapshot was made, while commits write the pages anew', async () => {
    const { store } = await filledStore()
    const before = await store.snapshot()
    expect(visited(before, {}, 100).length).toBe(entries)
    for (let round = 0; round < 5; round++) {
      const changes = Array.from({ length: 300 }, (_, nth) => {
        const key = keyOf((nth * 11 + round) % entries)
        return nth % 2 === 0 ? put(key, `changed-${round}`) : remove(key)
      })
      await store.commit(commitOf(changes))
      const now = await store.snapshot()
      const left = visitedByReads(now)
      expect(visited(now, {}, 5_000)).toEqual(left)
      expect(visited(now, {}, 250, false, true)).toEqual(left.toReversed())
      now.release()
    }
    expect(visited(before, {}, 100)).toEqual(all)
    before.release()
    await store.close()
  })

  it('throw for a bit that flips in an entry, a value or a key, also where the leaf was read before', async () => {
    for (const sought of ['value-1700-', keyOf(1_700)]) {
      const { store, directory } = await filledStore()
      const snapshot = await store.snapshot()
      expect(visited(snapshot, {}, 100)).toEqual(all)
      flipInPlace(directory, sought)
      expect(() => snapshot.count?.({}, 5_000)).toThrow(expect.objectContaining({ type: 'DataCorruption' }))
      expect(() => visited(snapshot, {}, 5_000)).toThrow(expect.objectContaining({ type: 'DataCorruption' }))
      await expect(scanned(snapshot, {}, 1_000)).rejects.toMatchObject({ type: 'DataCorruption' })
      expect(() => visited(snapshot, {}, 5_000, false, true)).toThrow(
        expect.objectContaining({ type: 'DataCorruption' }),
      )
      await expect(scanned(snapshot, {}, 1_000, true)).rejects.toMatchObject({ type: 'DataCorruption' })
      // Everything else is shown.
      expect(visited(snapshot, { to: Buffer.from(keyOf(1_500)) }, 400)).toEqual(all.slice(0, 1_500))
      expect(visited(snapshot, { from: Buffer.from(keyOf(1_900)) }, 400, false, true)).toEqual(
        all.slice(1_900).reverse(),
      )
      snapshot.release()
      await store.close()
    }
  })
  it('have about as many entries as the pages tell that lead to their ends', async () => {
    const { store } = await filledStore()
    const snapshot = await store.snapshot()
    fc.assert(
      fc.property(fc.nat(entries), fc.nat(entries), (one, other) => {
        const [from, to] = one < other ? [one, other] : [other, one]
        const about = snapshot.estimate?.({ from: Buffer.from(keyOf(from)), to: Buffer.from(keyOf(to)) })
        // Within a leaf it is exact; a leaf has a few dozen entries.
        expect(about).toBeGreaterThanOrEqual(Math.floor((to - from) / 2) - 40)
        expect(about).toBeLessThanOrEqual(2 * (to - from) + 40)
      }),
    )
    expect(snapshot.estimate?.({ from: Buffer.from(keyOf(7)), to: Buffer.from(keyOf(7)) })).toBe(0)
    expect(snapshot.estimate?.({ from: Buffer.from(keyOf(0)) })).toBeUndefined()
    snapshot.release()
    await store.close()
  })

  it('miss no entry where a bit flips in a key that leads to a leaf: all are shown, or an error says so', async () => {
    const { store, directory } = await filledStore()
    const snapshot = await store.snapshot()
    const isAllOrError = async (count: () => number | undefined | Promise<number>): Promise<boolean> => {
      try {
        return (await count()) === entries
      } catch (error) {
        return (error as { readonly type?: string }).type === 'DataCorruption'
      }
    }
    const scannedBackwards = async (): Promise<number> => {
      let count = 0
      for await (const some of snapshot.scan({}, () => 1, { batch: 500, reverse: true })) count += some.length
      return count
    }
    const path = join(directory, 'data.mdb')
    const places = branchKeyPlaces(readFileSync(path))
    expect(places.length).toBeGreaterThan(20)
    const file = openSync(path, 'r+')
    for (const { at, byte } of places) {
      for (const bit of [0x02, 0x04, 0x08]) {
        writeSync(file, Buffer.of(byte ^ bit), 0, 1, at)
        expect(await isAllOrError(() => visited(snapshot, {}, Number.POSITIVE_INFINITY).length)).toBe(true)
        expect(await isAllOrError(() => snapshot.count?.({}, 5_000).count)).toBe(true)
        expect(await isAllOrError(() => visited(snapshot, {}, Number.POSITIVE_INFINITY, false, true).length)).toBe(true)
      }
      expect(await isAllOrError(async () => (await scanned(snapshot, {}, 500)).length)).toBe(true)
      expect(await isAllOrError(scannedBackwards)).toBe(true)
      writeSync(file, Buffer.of(byte), 0, 1, at)
    }
    closeSync(file)
    expect(visited(snapshot, {}, 1_000)).toEqual(all)
    snapshot.release()
    await store.close()
  })
})

/** Of the first and the last byte of each key in a branch page. */
function branchKeyPlaces(content: Buffer): { readonly at: number; readonly byte: number }[] {
  const pageBytes = 4_096
  const places: { at: number; byte: number }[] = []
  for (let from = 0; from < content.length; from += pageBytes) {
    const page = content.subarray(from, from + pageBytes)
    const header = pageHeader(page)
    if (header.flags !== pageFlag.branch || header.number * pageBytes !== from) continue
    // The first child has no key of its own.
    for (let nth = 1; nth < header.lower / 2; nth++) {
      const node = nodeAt(page, header, nth)
      if (node === undefined) continue
      const keyAt = from + pageHeaderBytes + node.place + nodeHeaderBytes
      for (const at of [keyAt, keyAt + node.key.length - 1]) places.push({ at, byte: content[at] as number })
    }
  }
  return places
}

/** By ranges that are too short to be read in any other way than by the cursor. */
function visitedByReads(snapshot: Snapshot): string[] {
  const shown: string[] = []
  let from = Buffer.alloc(0)
  for (;;) {
    const answer = snapshot.read([], [{ from, limit: 10 }])
    if (answer instanceof Promise) throw new Error('LMDB answers at once')
    const [found = []] = answer.ranges
    for (const { key, value } of found) shown.push(`${Buffer.from(key)} ${Buffer.from(value)}`)
    const last = found.at(-1)
    if (last === undefined) return shown
    from = Buffer.concat([last.key, Buffer.of(0)])
  }
}

/** In the file of the open store, wherever the bytes are. */
function flipInPlace(directory: string, sought: string): void {
  const path = join(directory, 'data.mdb')
  const content = readFileSync(path)
  const file = openSync(path, 'r+')
  for (let at = content.indexOf(sought); at >= 0; at = content.indexOf(sought, at + 1))
    writeSync(file, Buffer.of((content[at + 5] as number) ^ 1), 0, 1, at + 5)
  closeSync(file)
}
