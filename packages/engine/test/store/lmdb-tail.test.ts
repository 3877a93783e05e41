/** LMDB: what is appended waits in a page that every commit writes anyway, and is among the entries of the store for whoever reads it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { appendedRange, appendSpace } from '../../src/store/append.ts'
import { AppendBlock, appendedValues, scanAppended } from '../../src/store/append-blocks.ts'
import { writeTail } from '../../src/store/lmdb/appended-tail.ts'
import { pageHeader } from '../../src/store/lmdb/data-file.ts'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import { openEnvironment } from '../../src/store/lmdb/open-environment.ts'
import { verifyLmdbFile } from '../../src/store/lmdb/verify-lmdb-file.ts'
import type { Bytes, Change, Commit, RangeRead, Snapshot, Store } from '../../src/store/store.ts'
import { commitOf, put, text, withSnapshot } from './bytes.ts'
import { flipBit } from './damage.ts'
import { temporaryDirectory } from './temporary-stores.ts'
import { seededRandom } from './wrappers/seeded-random.ts'

const runs = Math.max(1, 2 * Number(process.env.ASHLAR_RUNS ?? 1))
const random = seededRandom(Number(process.env.ASHLAR_SEED ?? 31))
const prefixOf = (epoch: number): Buffer => Buffer.of(appendSpace, 0, 0, 0, 0, epoch)
const corruption = { type: 'DataCorruption' }

function appending(values: readonly string[], changes: readonly Change[] = [], epoch = 1): Commit {
  return { ...commitOf(changes), append: { prefix: prefixOf(epoch), values: values.map((one) => Buffer.from(one)) } }
}

async function opened(directory: string): Promise<Store> {
  const store = await openLmdbStore(directory)
  onTestFinished(() => store.close())
  return store
}

async function appendedTo(store: Store, epoch = 1): Promise<string[]> {
  return withSnapshot(store, (snapshot) => appendedIn(snapshot, epoch))
}

async function appendedIn(snapshot: Snapshot, epoch = 1): Promise<string[]> {
  const all: string[] = []
  for await (const batch of scanAppended(snapshot, prefixOf(epoch), 1, Number.MAX_SAFE_INTEGER))
    all.push(...batch.map(({ number, value }) => `${number} ${text(value)}`))
  return all
}

/** Of what the last commit wrote, without the meta page. */
function pagesOfLastCommit(directory: string): number {
  const file = readFileSync(join(directory, 'data.mdb'))
  const headers = Array.from({ length: file.length / 4_096 }, (_, page) => pageHeader(file.subarray(page * 4_096)))
  const youngest = Math.max(...headers.slice(2).map(({ transaction }) => transaction))
  return headers.slice(2).filter(({ transaction }) => transaction === youngest).length
}

describe('what commits append one by one', () => {
  it('takes hardly a page more of each', async () => {
    const pages = { with: 0, without: 0 }
    for (const how of ['with', 'without'] as const) {
      const directory = await temporaryDirectory()
      const store = await opened(directory)
      await store.commit(commitOf(Array.from({ length: 5_000 }, (_, nth) => put(`\x03key ${nth}`, 'x'.repeat(50)))))
      for (let nth = 0; nth < 80; nth++) {
        const change = put(`\x03key ${nth * 60}`, 'y'.repeat(50))
        await store.commit(how === 'with' ? appending(['z'.repeat(100)], [change]) : commitOf([change]))
        pages[how] += pagesOfLastCommit(directory)
      }
      if (how === 'with') expect((await appendedTo(store)).length).toBe(80)
    }
    expect(pages.without / 80).toBeGreaterThan(3)
    expect((pages.with - pages.without) / 80).toBeLessThan(0.25)
  })

  it('is seen by another that has the store open, and by no snapshot of before', async () => {
    const directory = await temporaryDirectory()
    const [store, other] = [await opened(directory), await opened(directory)]
    await store.commit(appending(['a']))
    const snapshot = await other.snapshot()
    expect(await appendedIn(snapshot)).toEqual(['1 a'])
    await store.commit(appending(['b']))
    await other.commit(appending(['c']))
    await store.commit(appending(['d'.repeat(3_000)]))
    expect(await appendedIn(snapshot)).toEqual(['1 a'])
    snapshot.release()
    for (const one of [store, other])
      expect(await appendedTo(one)).toEqual(['1 a', '2 b', '3 c', `4 ${'d'.repeat(3_000)}`])
  })

  it('goes on behind what others have appended since, however commits of two take turns', async () => {
    const directory = await temporaryDirectory()
    const stores = [await opened(directory), await opened(directory)] as const
    const wanted: string[] = []
    for (let nth = 0; nth < 200; nth++) {
      const store = stores[random() < 0.7 ? 0 : 1]
      const value = 'v'.repeat(random() * 300)
      // Some append nothing.
      if (random() < 0.2) await store.commit(commitOf([put(`\x03${nth}`, 'x')]))
      else {
        wanted.push(`${wanted.length + 1} ${value}`)
        await store.commit(appending([value]))
      }
    }
    for (const store of stores) expect(await appendedTo(store)).toEqual(wanted)
  })

  it('leaves a store that can be opened again, however much waits', async () => {
    for (let length = 1_990; length <= 2_000; length++) {
      const directory = await temporaryDirectory()
      const store = await openLmdbStore(directory)
      await store.commit(appending(['v'.repeat(length)]))
      await store.close()
      const report = await verifyLmdbFile(directory, () => 'an entry')
      expect(report, `${length}`).toMatchObject({ problems: [] })
      expect(await appendedTo(await opened(directory))).toEqual([`1 ${'v'.repeat(length)}`])
    }
  })

  it('is read where an earlier version kept it on a page of its own', async () => {
    const directory = await temporaryDirectory()
    const { environment, close } = await openEnvironment(directory, false)
    const block = new AppendBlock(prefixOf(1), 0, 2_000)
    block.add(Buffer.alloc(1_998, 'v'))
    environment.list.transactionSync(() => writeTail(environment, block.key(), block.value()))
    await close()
    expect(await verifyLmdbFile(directory, () => 'an entry')).toMatchObject({ problems: [] })
    const store = await opened(directory)
    await store.commit(appending(['w']))
    expect(await appendedTo(store)).toEqual([`1 ${'v'.repeat(1_998)}`, '2 w'])
  })

  it('goes on where it was when the store is opened again, and the file is whole', async () => {
    const directory = await temporaryDirectory()
    const all: string[] = []
    for (let opening = 0; opening < 5; opening++) {
      const store = await openLmdbStore(directory)
      for (let nth = 0; nth < 9; nth++) {
        all.push(`${all.length + 1} ${'v'.repeat(nth * 70)}`)
        await store.commit(appending(['v'.repeat(nth * 70)]))
      }
      expect(await appendedTo(store)).toEqual(all)
      await store.close()
      const report = await verifyLmdbFile(directory, () => 'an entry')
      expect(report).toMatchObject({ problems: [], isReadable: true })
    }
  })

  it('is in the log in the order of the commits of a group, whatever their size, and of none that was refused', async () => {
    const store = await opened(await temporaryDirectory())
    const values = Array.from({ length: 300 }, (_, nth) => `${nth} ${'x'.repeat([1, 100, 1_980, 2_500][nth % 4]!)}`)
    const commits = values.map((value, nth) => {
      const commit = appending(nth % 10 === 9 ? [value, 'more'] : [value])
      return nth % 7 === 3
        ? { ...commit, preconditions: [{ kind: 'present', key: Buffer.from('?') } as const] }
        : commit
    })
    await Promise.all(commits.map((commit) => store.commit(commit)))
    const wanted = values.flatMap((value, nth) => (nth % 7 === 3 ? [] : nth % 10 === 9 ? [value, 'more'] : [value]))
    const found = await appendedTo(store)
    expect(found.map((one) => one.slice(one.indexOf(' ') + 1))).toEqual(wanted)
    const numbers = [...new Set(found.map((one) => Number(one.split(' ')[0])))]
    expect(numbers).toEqual(numbers.map((_, nth) => nth + 1))
  })
})

describe('the entry that it is', () => {
  /** A text: to compare buffers byte by byte takes a hundred times as long. */
  const shown = (key: Bytes, value: Bytes): string => `${text(key)}=${text(value)}`

  /** What each way of reading gives, beside what a copy of all entries gives. */
  async function expectAlike(snapshot: Snapshot): Promise<void> {
    const all = await entriesOfAll(snapshot)
    const order = all.map(({ key }) => text(key))
    expect(order).toEqual(order.toSorted())
    const keys = all.map(({ key }) => key)
    const [first, last] = [keys[0], keys.at(-1)] as [Bytes, Bytes]
    const bounds = [undefined, first, keys[Math.floor(random() * keys.length)], last, prefixOf(1), Buffer.of(8)]
    for (const from of bounds) {
      for (const to of bounds) {
        const range: RangeRead = { ...(from && { from }), ...(to && { to }) }
        const within = all.filter(
          ({ key }) => (!from || Buffer.compare(key, from) >= 0) && (!to || Buffer.compare(key, to) < 0),
        )
        for (const reverse of [false, true]) {
          const limit = 1 + Math.floor(random() * 8)
          const entries = (reverse ? within.toReversed() : within).slice(0, limit)
          const wanted = entries.map(({ key, value }) => shown(key, value))
          const [read = []] = (await snapshot.read([], [{ ...range, reverse, limit }])).ranges
          expect(read.map(({ key, value }) => shown(key, value))).toEqual(wanted)
          const scanned: string[] = []
          for await (const batch of snapshot.scan(range, shown, { reverse, limit, batch: 2 })) scanned.push(...batch)
          expect(scanned).toEqual(wanted)
          const visited: string[] = []
          const end = snapshot.visit?.(range, reverse, (key, value) => visited.push(shown(key, value)) < limit)
          expect(visited).toEqual(wanted)
          if (within.length > limit) expect(end && Buffer.from(end)).toEqual(entries.at(-1)?.key)
        }
      }
    }
    for (const { key, value } of all.slice(-5)) {
      expect(snapshot.view(key, (found) => Buffer.from(found))).toEqual(value)
      expect((await snapshot.read([key, Buffer.of(appendSpace, 9)])).values).toEqual([value, undefined])
    }
    expect(snapshot.entryCount).toBe(all.length)
  }

  async function entriesOfAll(snapshot: Snapshot): Promise<{ key: Buffer; value: Buffer }[]> {
    const all: { key: Buffer; value: Buffer }[] = []
    const keep = (key: Bytes, value: Bytes) => ({ key: Buffer.from(key), value: Buffer.from(value) })
    for await (const batch of snapshot.scan({}, keep)) all.push(...batch)
    return all
  }

  it('is at its place in every way of reading, through random commits', async () => {
    for (let run = 0; run < runs; run++) {
      const store = await opened(await temporaryDirectory())
      const model = new Map<string, string>()
      const logged: string[][] = [[], [], []]
      const numbers = [0, 0, 0]
      let epoch = 1
      for (let step = 0; step < 60; step++) {
        if (random() < 0.05) epoch = 3 - epoch
        const [name, value] = [`${'\x03\x07\x07\xff'[step % 4]}\xf0${Math.floor(random() * 40)}`, `${step}`]
        const values = Array.from({ length: random() < 0.8 ? 1 : 3 }, () => 'v'.repeat(random() * 700))
        model.set(name, value)
        numbers[epoch] = (numbers[epoch] as number) + 1
        logged[epoch]?.push(...values.map((one) => `${numbers[epoch]} ${one}`))
        await store.commit(appending(values, [put(name, value)], epoch))
        if (step % 6 > 0) continue
        const snapshot = await store.snapshot({ isCounted: true })
        await expectAlike(snapshot)
        const others = (await entriesOfAll(snapshot)).filter(({ key }) => key[0] !== appendSpace || key[1] !== 0)
        expect(new Map(others.map(({ key, value: held }) => [text(key), text(held)]))).toEqual(model)
        for (const one of [1, 2]) expect(await appendedIn(snapshot, one)).toEqual(logged[one])
        snapshot.release()
      }
    }
  })

  it('can be deleted and written like any other', async () => {
    const store = await opened(await temporaryDirectory())
    for (const value of ['a', 'b', 'c']) await store.commit(appending([value]))
    const entries = await withSnapshot(store, (snapshot) => snapshot.read([], [appendedRange(prefixOf(1))]))
    const [{ key, value } = { key: Buffer.of(), value: Buffer.of() }, ...others] = entries.ranges[0] ?? []
    expect(others).toEqual([])
    expect(appendedValues(key, value)).toHaveLength(3)
    const isAsRead = { kind: 'revision', key, prefix: value } as const
    expect(await store.commit(commitOf([{ kind: 'delete', key }], [isAsRead]))).toEqual({ isCommitted: true })
    expect(await appendedTo(store)).toEqual([])
    expect(await store.commit(commitOf([], [isAsRead]))).toMatchObject({ isCommitted: false })
    await store.commit(appending(['d'], [], 2))
    await store.commit(commitOf([{ kind: 'put', key, value }]))
    expect(await appendedTo(store)).toEqual(['1 a', '2 b', '3 c'])
    expect(await appendedTo(store, 2)).toEqual(['1 d'])
  })

  it('is found by what a large commit requires, whether that holds or not', async () => {
    const store = await opened(await temporaryDirectory())
    for (const value of ['a', 'b']) await store.commit(appending([value]))
    const { ranges } = await withSnapshot(store, (snapshot) => snapshot.read([], [appendedRange(prefixOf(1))]))
    const keys = (ranges[0] ?? []).map(({ key }) => key)
    const changes = Array.from({ length: 3_000 }, (_, nth) => put(`\x03${nth}`, 'x'))
    const range = appendedRange(prefixOf(1))
    const requiring = (those: readonly Bytes[]): Commit => {
      return {
        ...appending(['c'], changes),
        preconditions: [{ kind: 'range', range, keys: those, rangeLockKey: range.from }],
      }
    }
    expect(await store.commit(requiring([]))).toMatchObject({ isCommitted: false })
    expect(await appendedTo(store)).toEqual(['1 a', '2 b'])
    expect(await store.commit(requiring(keys))).toEqual({ isCommitted: true })
    expect(await appendedTo(store)).toEqual(['1 a', '2 b', '3 c'])
    expect((await store.stats()).entries).toBe(3_002)
  })

  it('is in a backup of the files', async () => {
    const store = await openLmdbStore(await temporaryDirectory())
    for (const value of ['a', 'b']) await store.commit(appending([value]))
    const to = join(await temporaryDirectory(), 'copy')
    await store.backup(to)
    await store.close()
    const copy = await opened(to)
    await copy.commit(appending(['c']))
    expect(await appendedTo(copy)).toEqual(['1 a', '2 b', '3 c'])
  })
})

describe('a flipped bit in it', () => {
  async function damaged(): Promise<string> {
    const directory = await temporaryDirectory()
    const store = await openLmdbStore(directory)
    for (const value of ['first', 'second', 'third'])
      await store.commit(appending([value], [put('\x03a', value), put('\x07\x02a', value)]))
    await store.close()
    flipBit(directory, 'second', { at: 2 })
    return directory
  }

  it('is told by a check of the file, which LMDB can read', async () => {
    const report = await verifyLmdbFile(await damaged(), (key) => `what is under ${Buffer.from(key).toString('hex')}`)
    expect(report).toMatchObject({
      problems: ['what is under 0700 is damaged: its checksum does not fit'],
      isReadable: true,
    })
  })

  it('fails every way of reading it, and no other entry', async () => {
    const store = await opened(await damaged())
    const snapshot = await store.snapshot()
    await expect(appendedIn(snapshot)).rejects.toMatchObject(corruption)
    expect(() => snapshot.read([], [{}])).toThrow(expect.objectContaining(corruption))
    expect(snapshot.view(Buffer.from('\x03a'), text)).toBe('third')
    const told: unknown[] = []
    for await (const batch of snapshot.scan({}, text, { onDamage: (error) => told.push(error) }))
      expect(batch).toHaveLength(2)
    expect(told).toMatchObject([corruption])
    snapshot.release()
  })

  it('leaves what is beside it in its space as it was', async () => {
    const store = await opened(await damaged())
    const key = Buffer.from('\x07\x02a')
    const snapshot = await store.snapshot()
    expect(snapshot.view(key, text)).toBe('third')
    const { values, ranges } = await snapshot.read([key], [{ from: Buffer.of(appendSpace, 1) }])
    expect(values[0] && text(values[0])).toBe('third')
    expect(ranges[0]?.map((entry) => text(entry.key))).toEqual(['\x07\x02a'])
    snapshot.release()
    const isThere = { kind: 'revision', key, prefix: Buffer.from('third') } as const
    expect(await store.commit(commitOf([put('\x07\x02a', 'fourth')], [isThere]))).toEqual({ isCommitted: true })
  })

  it('lets others go on writing, behind all numbers that were given', async () => {
    const store = await opened(await damaged())
    await store.commit(appending(['fourth'], [put('\x03b', 'x')]))
    await store.commit(appending(['fifth']))
    const snapshot = await store.snapshot()
    await expect(appendedIn(snapshot)).rejects.toMatchObject(corruption)
    const told: unknown[] = []
    const found: string[] = []
    const read = (key: Bytes, value: Bytes) => appendedValues(key, Buffer.from(value))
    const options = { onDamage: (error: unknown) => told.push(error) }
    for await (const batch of snapshot.scan(appendedRange(prefixOf(1)), read, options)) {
      for (const { number, value } of batch.flat()) {
        found.push(text(value))
        expect(number).toBeGreaterThan(3)
      }
    }
    snapshot.release()
    expect(found).toEqual(['fourth', 'fifth'])
    expect(told).toMatchObject([corruption])
  })
})
