/** What commits append: under numbers in the order of the commits, all or nothing with the changes. */
import { describe, expect, it } from 'vitest'
import { appendedRange, appendPrefixBytes } from '../../../src/store/append.ts'
import { scanAppended } from '../../../src/store/append-blocks.ts'
import type { Bytes, Commit, Snapshot, Store } from '../../../src/store/store.ts'
import { absent, bytes, commitOf, put, revision, text, withSnapshot } from '../bytes.ts'
import type { Driver } from '../conformance.ts'
import { useStore } from './use-store.ts'

const prefix = bytes('\x07\x00\x00\x00\x00\x01')

function appending(commit: Commit, ...values: readonly string[]): Commit {
  return { ...commit, append: { prefix, values: values.map(bytes) } }
}

interface Appended {
  readonly number: number
  readonly part: number
  readonly value: string
}

async function appendedIn(snapshot: Snapshot, of: Bytes = prefix): Promise<Appended[]> {
  const all: Appended[] = []
  for await (const batch of scanAppended(snapshot, of, 1, Number.MAX_SAFE_INTEGER))
    all.push(...batch.map(({ value, ...place }) => ({ ...place, value: text(value) })))
  return all
}

function valuesIn(store: Store): Promise<string[]> {
  return withSnapshot(store, async (snapshot) => (await appendedIn(snapshot)).map(({ value }) => value))
}

export function appendRules(driver: Driver): void {
  describe('what commits append', () => {
    it('stands in the order of commits, the entries of each together', () =>
      useStore(driver, async (store) => {
        for (const nth of [1, 2, 3])
          await store.commit(appending(commitOf([put(`k${nth}`, 'x')]), `${nth}a`, `${nth}b`))
        const all = await withSnapshot(store, (snapshot) => appendedIn(snapshot))
        expect(all.map(({ value }) => value)).toEqual(['1a', '1b', '2a', '2b', '3a', '3b'])
        expect(all.map(({ part }) => part)).toEqual([0, 1, 0, 1, 0, 1])
        expect(new Set(all.map(({ number }) => number)).size).toBe(3)
        expect(all[0]?.number).toBeGreaterThan(0)
      }))

    it('is not there where the commit is refused, beside others that go through', () =>
      useStore(driver, async (store) => {
        const commits = Array.from({ length: 40 }, (_, nth) =>
          appending(
            commitOf([put(`k${nth}`, 'x')], nth % 2 === 0 ? [absent(`k${nth}`)] : [revision('missing', '')]),
            `${nth}`,
          ),
        )
        await Promise.all(commits.map((commit) => store.commit(commit)))
        const found = (await valuesIn(store)).map(Number).sort((one, other) => one - other)
        expect(found).toEqual(Array.from({ length: 20 }, (_, nth) => 2 * nth))
      }))

    it('may be all that a commit writes, and much', () =>
      useStore(driver, async (store) => {
        await store.commit(appending(commitOf([])))
        await store.commit(appending(commitOf([]), 'alone'))
        const large = Array.from({ length: 100 }, (_, nth) => String(nth % 10).repeat(65_536))
        const changes = Array.from({ length: 3_000 }, (_, nth) => put(`k${String(nth).padStart(4, '0')}`, 'x'))
        await store.commit(appending(commitOf(changes), ...large))
        await store.commit(appending(commitOf([put('last', 'x')]), 'last'))
        expect(await valuesIn(store)).toEqual(['alone', ...large, 'last'])
      }))

    it('has numbers of its own under each prefix, and others are not in its range', () =>
      useStore(driver, async (store) => {
        const other = bytes('\x07\x00\x00\x00\x00\x02')
        await store.commit(appending(commitOf([]), 'one'))
        await store.commit({ ...commitOf([]), append: { prefix: other, values: [bytes('other')] } })
        await store.commit(appending(commitOf([]), 'two'))
        expect(await valuesIn(store)).toEqual(['one', 'two'])
        const others = await withSnapshot(store, (snapshot) => appendedIn(snapshot, other))
        expect(others.map(({ value }) => value)).toEqual(['other'])
        expect(prefix).toHaveLength(appendPrefixBytes)
      }))

    it('goes on behind the last entry, whatever was removed before it', () =>
      useStore(driver, async (store) => {
        for (const nth of [1, 2, 3]) await store.commit(appending(commitOf([]), String(nth), 'more'))
        const keys: Bytes[] = []
        await withSnapshot(store, async (snapshot) => {
          for await (const batch of snapshot.scan(appendedRange(prefix), (key) => Buffer.from(key))) keys.push(...batch)
        })
        await store.commit({ changes: keys.slice(0, 4).map((key) => ({ kind: 'delete', key })), preconditions: [] })
        await store.commit(appending(commitOf([]), '4'))
        expect(await valuesIn(store)).toEqual(['3', 'more', '4'])
      }))

    it('is in the order in which one key was changed, and seen up to the settled number for good', () =>
      useStore(driver, async (store) => {
        await store.commit(commitOf([put('counter', '0')]))
        let isDone = false
        const writers = Array.from({ length: 4 }, async (_, writer) => {
          for (let round = 0; round < 15; ) {
            const value = await withSnapshot(store, (snapshot) => snapshot.view(bytes('counter'), text))
            const next = String(Number(value) + 1)
            const own = put(`own ${writer} ${round}`, 'x')
            const commit = commitOf([put('counter', next), own], [revision('counter', String(value))])
            if ((await store.commit(appending(commit, next))).isCommitted) round++
            await store.commit(appending(commitOf([put(`beside ${writer} ${round}`, 'x')]), `beside`))
          }
        })
        const settled: Appended[] = []
        const reading = (async () => {
          for (let last = 0; ; ) {
            const isLast = isDone
            const upTo = (await store.settledNumbers?.())?.settled ?? Number.MAX_SAFE_INTEGER
            const all = await withSnapshot(store, (snapshot) => appendedIn(snapshot))
            settled.push(...all.filter(({ number }) => number > last && number <= upTo))
            last = settled.at(-1)?.number ?? 0
            if (isLast) return all
            await new Promise((resolve) => setTimeout(resolve, 1))
          }
        })()
        await Promise.all(writers)
        isDone = true
        const all = await reading
        expect(settled).toEqual(all)
        const counted = all.map(({ value }) => value).filter((value) => value !== 'beside')
        expect(counted).toEqual(counted.map((_, nth) => String(nth + 1)))
        expect(counted).toHaveLength(60)
      }))
  })
}
