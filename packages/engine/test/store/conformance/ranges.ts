/** Ranges: from ≤ key < to in byte order, in both directions, with limits and without bounds. */
import { describe, expect, it } from 'vitest'
import type { Bytes, KeyRange, ScanOptions, Store } from '../../../src/store/store.ts'
import { bytes, commitChanges, entriesOf, put, range, text, withSnapshot } from '../bytes.ts'
import type { Driver } from '../conformance.ts'
import { useStore } from './use-store.ts'

const stored = ['\x00', '\x00\x00', '\x00\xff', 'a', 'a\x00', 'ab', 'b', 'c', '\xfe', '\xff', '\xff\x00', '\xff\xff']

const ranges: [name: string, of: KeyRange][] = [
  ['no bounds', {}],
  ['from a key', range('a')],
  ['from between keys', range('a\x01')],
  ['to a key', range(undefined, 'b')],
  ['to between keys', range(undefined, 'bb')],
  ['both bounds', range('a', 'c')],
  ['one key', range('a', 'a\x00')],
  ['empty lower bound', range('', 'b')],
  ['empty upper bound', range('a', '')],
  ['both bounds empty', range('', '')],
  ['equal bounds', range('b', 'b')],
  ['crossed bounds', range('c', 'a')],
  ['nothing between', range('ac', 'b')],
  ['below all keys', range(undefined, '\x00')],
  ['the lowest key', range('\x00', '\x00\x00')],
  ['above all keys', range('\xff\xff\x00')],
  ['the highest keys', range('\xff')],
  ['to above all keys', range('c', '\xff\xff\xff')],
]

/** What a plain filter of the sorted keys answers. */
function expected(of: KeyRange, options: ScanOptions): string[] {
  const isWithin = (key: string) =>
    (of.from === undefined || Buffer.compare(bytes(key), of.from) >= 0) &&
    (of.to === undefined || Buffer.compare(bytes(key), of.to) < 0)
  const keys = stored.filter(isWithin)
  if (options.reverse === true) keys.reverse()
  return keys.slice(0, options.limit)
}

async function fill(store: Store): Promise<void> {
  await commitChanges(store, ...stored.toReversed().map((key) => put(key, `value of ${key}`)))
}

export function rangeRules(driver: Driver): void {
  describe('ranges', () => {
    it('hold the same keys by every way of reading, in both directions, with every limit and batch', () =>
      useStore(driver, async (store) => {
        await fill(store)
        await withSnapshot(store, async (snapshot) => {
          for (const [name, of] of ranges) {
            for (const reverse of [false, true]) {
              for (const limit of [undefined, 0, 1, 2, 3, 100]) {
                const options = { reverse, ...(limit === undefined ? {} : { limit }) }
                const where = `${name}, ${JSON.stringify(options)}`
                const keys = expected(of, options)
                const entries = keys.map((key) => `${key}=value of ${key}`)
                expect(await entriesOf(snapshot, of, options), where).toEqual(entries)
                expect(await entriesOf(snapshot, of, { ...options, batch: 2 }), where).toEqual(entries)
                expect(await entriesOf(snapshot, of, { ...options, keysOnly: true }), where).toEqual(keys)
                const read = (await snapshot.read([], [{ ...of, ...options }])).ranges[0]!
                expect(
                  read.map(({ key, value }) => `${text(key)}=${text(value)}`),
                  where,
                ).toEqual(entries)
                if (snapshot.visit === undefined || limit === 0) continue
                for (const max of [undefined, limit]) {
                  const visited: string[] = []
                  const take = (key: Bytes, value: Bytes): boolean => {
                    return visited.push(`${text(key)}=${text(value)}`) !== limit
                  }
                  const last = snapshot.visit(of, reverse, take, max)
                  expect(visited, where).toEqual(entries)
                  expect(last && text(last), where).toBe(keys.length === limit ? keys.at(-1) : undefined)
                }
              }
            }
          }
        })
      }))

    it('come in batches of the size asked for', () =>
      useStore(driver, async (store) => {
        await fill(store)
        await withSnapshot(store, async (snapshot) => {
          const sizes: number[] = []
          for await (const batch of snapshot.scan({}, text, { batch: 5 })) sizes.push(batch.length)
          expect(sizes).toEqual([5, 5, 2])
        })
      }))

    it('pass on an empty value when only keys are asked for', () =>
      useStore(driver, async (store) => {
        await fill(store)
        await withSnapshot(store, async (snapshot) => {
          const sizes = new Set<number>()
          const collect = (_: unknown, value: Uint8Array) => sizes.add(value.length)
          for await (const batch of snapshot.scan({}, collect, { keysOnly: true })) expect(batch).not.toEqual([])
          expect([...sizes]).toEqual([0])
        })
      }))

    it('yield nothing, not even an empty batch, from an empty store', () =>
      useStore(driver, (store) =>
        withSnapshot(store, async (snapshot) => {
          for (const reverse of [false, true]) {
            for await (const batch of snapshot.scan({}, text, { reverse })) expect(batch).toBeUndefined()
            expect((await snapshot.read([], [{ reverse }])).ranges).toEqual([[]])
          }
        }),
      ))

    it('can be left in the middle, and walked side by side', () =>
      useStore(driver, async (store) => {
        await fill(store)
        await withSnapshot(store, async (snapshot) => {
          for await (const batch of snapshot.scan({}, text, { batch: 3 })) {
            expect(batch).toEqual(stored.slice(0, 3))
            break
          }
          const seen: string[] = []
          for await (const outer of snapshot.scan(range('a', 'c'), text, { batch: 2 })) {
            const inner = await entriesOf(snapshot, range('\xff'), { keysOnly: true, batch: 1 })
            seen.push(...outer, ...inner)
          }
          const last = ['\xff', '\xff\x00', '\xff\xff']
          expect(seen).toEqual(['a', 'a\x00', ...last, 'ab', 'b', ...last])
        })
      }))

    it('give the event loop its turn during a long scan', () =>
      useStore(driver, async (store) => {
        const many = Array.from({ length: 2_000 }, (_, number) => put(`key ${number}`, 'value'))
        await commitChanges(store, ...many)
        await withSnapshot(store, async (snapshot) => {
          let turns = 0
          let isDone = false
          const count = () => {
            turns += 1
            if (!isDone) setImmediate(count)
          }
          setImmediate(count)
          const work = () => {
            const until = performance.now() + 0.05
            while (performance.now() < until);
          }
          for await (const batch of snapshot.scan({}, work, { batch: 50 })) expect(batch.length).toBeLessThanOrEqual(50)
          isDone = true
          expect(turns).toBeGreaterThan(3)
        })
      }))
  })
}
