/** Snapshots see one moment, not older than their call, for as long as they are open. */
import { describe, expect, it } from 'vitest'
import {
  bytes,
  commitChanges,
  entriesOf,
  pinnedSnapshot,
  put,
  range,
  remove,
  text,
  valueAt,
  valueIn,
} from '../bytes.ts'
import type { Driver } from '../conformance.ts'
import { useStore } from './use-store.ts'

export function snapshotRules(driver: Driver): void {
  describe('snapshots', () => {
    it('show what was committed before their call', () =>
      useStore(driver, async (store) => {
        for (let count = 0; count < 200; count += 1) {
          await commitChanges(store, put('count', String(count)))
          expect(await valueIn(store, 'count')).toBe(String(count))
        }
      }))

    it('are not older than their call, even with other snapshots open', () =>
      useStore(driver, async (store) => {
        const open = []
        for (let count = 0; count < 8; count += 1) {
          await commitChanges(store, put('count', String(count)))
          open.push(await pinnedSnapshot(store), await pinnedSnapshot(store))
        }
        for (const [position, snapshot] of open.entries()) {
          expect(await valueAt(snapshot, 'count')).toBe(String(Math.floor(position / 2)))
        }
        for (const snapshot of open) snapshot.release()
      }))

    it('stay as they are while others commit, across awaits and turns of the event loop', () =>
      useStore(driver, async (store) => {
        await commitChanges(store, put('a', '1'), put('b', '1'), put('c', '1'))
        const before = await pinnedSnapshot(store)
        for (let round = 0; round < 20; round += 1) {
          await commitChanges(store, put('a', '2'), remove('b'), put(`d${round}`, 'new'))
          await new Promise((resolve) => setImmediate(resolve))
          expect(await valueAt(before, 'a')).toBe('1')
          expect(await valueAt(before, 'b')).toBe('1')
          expect(await entriesOf(before)).toEqual(['a=1', 'b=1', 'c=1'])
        }
        before.release()
        expect(await valueIn(store, 'a')).toBe('2')
        expect(await valueIn(store, 'b')).toBeUndefined()
      }))

    it('do not change under a scan while others commit between its batches', () =>
      useStore(driver, async (store) => {
        const keys = Array.from({ length: 40 }, (_, number) => `k${String(number).padStart(2, '0')}`)
        await commitChanges(store, ...keys.map((key) => put(key, 'old')))
        const snapshot = await store.snapshot()
        const seen: string[] = []
        for await (const batch of snapshot.scan({}, (key, value) => `${text(key)}=${text(value)}`, { batch: 7 })) {
          seen.push(...batch)
          await commitChanges(store, ...keys.map((key) => put(key, 'new')), put(`k${seen.length}x`, 'new'))
        }
        snapshot.release()
        expect(seen).toEqual(keys.map((key) => `${key}=old`))
      }))

    it('read keys and ranges in one trip, in the order asked for', () =>
      useStore(driver, async (store) => {
        await commitChanges(store, put('a', '1'), put('b', '2'), put('c', '3'))
        const snapshot = await store.snapshot()
        const answer = await snapshot.read(
          [bytes('c'), bytes('x'), bytes('a'), bytes('c')],
          [range('b'), { ...range('a'), reverse: true, limit: 2 }, range('x')],
        )
        snapshot.release()
        expect(answer.values.map((value) => value && text(value))).toEqual(['3', undefined, '1', '3'])
        const keys = answer.ranges.map((entries) => entries.map((entry) => text(entry.key) + text(entry.value)))
        expect(keys).toEqual([['b2', 'c3'], ['c3', 'b2'], []])
      }))

    it('give away the bytes that they read', () =>
      useStore(driver, async (store) => {
        await commitChanges(store, put('a', 'first'), put('b', 'other'))
        const snapshot = await store.snapshot()
        const first = await snapshot.read([bytes('a')], [range('a', 'b')])
        await snapshot.read([bytes('b')], [range('b')])
        await snapshot.view(bytes('b'), text)
        expect(text(first.values[0]!)).toBe('first')
        expect(text(first.ranges[0]![0]!.value)).toBe('first')
        first.values[0]!.fill(0)
        expect(await valueAt(snapshot, 'a')).toBe('first')
        snapshot.release()
      }))

    it('pass on a value with its exact size', () =>
      useStore(driver, async (store) => {
        await commitChanges(store, put('a', 'abc'))
        const snapshot = await store.snapshot()
        const lengths = await snapshot.view(bytes('a'), (value) => [value.length, value.byteLength, [...value].length])
        expect(lengths).toEqual([3, 3, 3])
        snapshot.release()
      }))

    it('pass on what the callback throws, and answer undefined without calling it for a missing key', () =>
      useStore(driver, async (store) => {
        await commitChanges(store, put('a', '1'))
        const snapshot = await store.snapshot()
        const fail = () => {
          throw new Error('from the callback')
        }
        await expect((async () => snapshot.view(bytes('a'), fail))()).rejects.toThrow('from the callback')
        await expect(entriesOfFailing(snapshot, fail)).rejects.toThrow('from the callback')
        expect(await snapshot.view(bytes('b'), fail)).toBeUndefined()
        expect(await valueAt(snapshot, 'a')).toBe('1')
        snapshot.release()
      }))
  })
}

async function entriesOfFailing(snapshot: Parameters<typeof entriesOf>[0], fail: () => never): Promise<void> {
  for await (const batch of snapshot.scan({}, fail)) expect(batch).toBeUndefined()
}
