/** Keys and values at their limits, and beyond. */
import { describe, expect, it } from 'vitest'
import { scanBatchBytes } from '../../../src/limits.ts'
import type { Bytes, Store } from '../../../src/store/store.ts'
import { bytes, commitOf, entriesIn, put, text, withSnapshot } from '../bytes.ts'
import type { Driver } from '../conformance.ts'
import { useStore } from './use-store.ts'

const largeValueBytes = 4_194_304

function pattern(length: number): Bytes {
  const value = Buffer.alloc(length)
  for (let position = 0; position < length; position += 1) value[position] = (position * 31 + (position >> 8)) & 0xff
  return value
}

async function sent(store: Store, key: Bytes, value: Bytes): Promise<Bytes | undefined> {
  const outcome = await store.commit({
    changes: [{ kind: 'put', key, value }],
    preconditions: [{ kind: 'absent', key }],
  })
  expect(outcome).toEqual({ isCommitted: true })
  const again = await store.commit({ changes: [], preconditions: [{ kind: 'revision', key, prefix: value }] })
  expect(again).toEqual({ isCommitted: true })
  return withSnapshot(store, async (snapshot) => {
    const viewed = await snapshot.view(key, (borrowed) => Buffer.from(borrowed))
    const read = await snapshot.read([key], [{ from: key }])
    expect(Buffer.compare(read.values[0]!, value)).toBe(0)
    expect(Buffer.compare(read.ranges[0]![0]!.key, key)).toBe(0)
    expect(Buffer.compare(read.ranges[0]![0]!.value, value)).toBe(0)
    return viewed
  })
}

export function limitRules(driver: Driver): void {
  describe('limits', () => {
    it('keys of one byte, of any byte', () =>
      useStore(driver, async (store) => {
        const keys = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte))
        const changes = keys.map((key) => ({ kind: 'put' as const, key, value: key }))
        await store.commit({ changes: changes.toReversed(), preconditions: [] })
        const all = await withSnapshot(store, (snapshot) => snapshot.read(keys, [{}]))
        expect(all.ranges[0]!.map((entry) => entry.key[0])).toEqual(keys.map((key) => key[0]))
        expect(all.values.map((value) => value?.[0])).toEqual(keys.map((key) => key[0]))
      }))

    it.each([
      ['0x00', 0x00],
      ['0xff', 0xff],
    ])('keys of the greatest length, all %s, beside their neighbours', (_, byte) =>
      useStore(driver, async (store) => {
        const longest = Buffer.alloc(store.capabilities.keyBytesMax, byte)
        const shorter = longest.subarray(0, longest.length - 1)
        expect(Buffer.compare((await sent(store, longest, bytes('longest')))!, bytes('longest'))).toBe(0)
        await sent(store, shorter, bytes('shorter'))
        const all = await withSnapshot(store, (snapshot) => snapshot.read([], [{}, { reverse: true }]))
        expect(all.ranges.map((entries) => entries.map((entry) => entry.key.length))).toEqual([
          [shorter.length, longest.length],
          [longest.length, shorter.length],
        ])
      }),
    )

    it.each([0, 1, 4_095, 4_096, 4_097, 65_536, largeValueBytes])('values of %i bytes', (length) =>
      useStore(driver, async (store) => {
        const value = pattern(length)
        const found = await sent(store, bytes('key'), value)
        expect(found?.length).toBe(length)
        expect(Buffer.compare(found!, value)).toBe(0)
      }),
    )

    it('values of the greatest size', () =>
      useStore(driver, async (store) => {
        const value = Buffer.alloc(store.capabilities.valueBytesMax, 0x5a)
        const found = await sent(store, bytes('key'), value)
        expect(found?.length).toBe(value.length)
        expect(Buffer.compare(found!, value)).toBe(0)
      }))

    it('several large values in one commit and one scan', () =>
      useStore(driver, async (store) => {
        const keys = ['a', 'b', 'c']
        const changes = keys.map((key, position) => ({
          kind: 'put' as const,
          key: bytes(key),
          value: Buffer.alloc(largeValueBytes, position),
        }))
        await store.commit({ changes, preconditions: [] })
        await withSnapshot(store, async (snapshot) => {
          const seen: string[] = []
          const describeEntry = (key: Bytes, value: Bytes) => `${key[0]} ${value.length} ${value[0]} ${value.at(-1)}`
          for await (const batch of snapshot.scan({}, describeEntry)) seen.push(...batch)
          expect(seen).toEqual(keys.map((_, position) => `${97 + position} ${largeValueBytes} ${position} ${position}`))
        })
      }))

    it('batches of a scan that hold some large values, not all, in both directions', () =>
      useStore(driver, async (store) => {
        const keys = Array.from({ length: 12 }, (_, position) => `k${String(position).padStart(2, '0')}`)
        // Where objects lie, and where all else does.
        const all = [...keys, ...keys.map((key) => `\x03\x00\x03\x00\x03${key}`)].map(bytes).toSorted(Buffer.compare)
        const valueBytes = scanBatchBytes / 3
        for (const key of all) {
          await store.commit({ changes: [{ kind: 'put', key, value: Buffer.alloc(valueBytes) }], preconditions: [] })
        }
        await withSnapshot(store, async (snapshot) => {
          for (const reverse of [false, true]) {
            const seen: Buffer[] = []
            for await (const batch of snapshot.scan({}, (key) => Buffer.from(key), { reverse, batch: 1_000 })) {
              expect(batch.length).toBeLessThanOrEqual(4)
              seen.push(...batch)
            }
            expect(seen).toEqual((reverse ? all.toReversed() : all).map((key) => Buffer.from(key)))
          }
          let limited = 0
          for await (const batch of snapshot.scan({}, () => 1, { limit: 7 })) limited += batch.length
          expect(limited).toBe(7)
        })
      }))

    it('a scan of short values among which some are long, in both directions and in batches of any size', () =>
      useStore(driver, async (store) => {
        const lengths = Array.from({ length: 600 }, (_, nth) => (nth % 250 === 130 || nth === 599 ? 5_000 : nth % 90))
        const keys = lengths.map((_, nth) => bytes(`\x03\x00\x03\x00\x03${String(nth).padStart(4, '0')}`))
        const changes = keys.map((key, nth) => ({
          kind: 'put' as const,
          key,
          value: Buffer.alloc(lengths[nth] ?? 0, nth),
        }))
        await store.commit({ changes, preconditions: [] })
        // Texts: to compare buffers byte by byte takes a hundred times as long.
        const copy = (key: Bytes, value: Bytes): string => [key, value].map((one) => text(one)).join()
        const expected = changes.map(({ key, value }) => copy(key, value))
        await withSnapshot(store, async (snapshot) => {
          for (const reverse of [false, true]) {
            for (const batch of [1, 100, 131, 10_000]) {
              const seen: string[] = []
              for await (const some of snapshot.scan({}, copy, { reverse, batch })) {
                expect(some.length).toBeLessThanOrEqual(batch)
                seen.push(...some)
              }
              expect(seen).toEqual(reverse ? expected.toReversed() : expected)
            }
          }
        })
      }))

    it('empty keys, too long keys and too large values are refused, with the whole commit', () =>
      useStore(driver, async (store) => {
        const tooLong = Buffer.alloc(store.capabilities.keyBytesMax + 1, 1)
        const tooLarge = Buffer.alloc(store.capabilities.valueBytesMax + 1)
        const bad = [
          { kind: 'put' as const, key: bytes(''), value: bytes('x') },
          { kind: 'put' as const, key: tooLong, value: bytes('x') },
          { kind: 'put' as const, key: bytes('x'), value: tooLarge },
          { kind: 'delete' as const, key: bytes('') },
        ]
        for (const change of bad) await expect(store.commit(commitOf([put('a', '1'), change]))).rejects.toThrow('bytes')
        const expecting = store.commit(commitOf([put('a', '1')], [{ kind: 'absent', key: tooLong }]))
        await expect(expecting).rejects.toThrow('bytes')
        expect(await entriesIn(store)).toEqual([])
        expect(await store.commit(commitOf([put('a', '1')]))).toEqual({ isCommitted: true })
      }))
  })
}
