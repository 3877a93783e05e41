/** Large commits to an LMDB store: applied in slices of one write transaction, between which others read what was there before. */
import { expect, it, vi } from 'vitest'
import { unreachable } from '../../src/errors.ts'
import type { Commit, Store } from '../../src/store/store.ts'
import { turnsDuring } from '../work/count-work.ts'
import { absent, bytes, commitOf, entriesIn, present, put } from './bytes.ts'
import { temporaryLmdb } from './temporary-stores.ts'

const { open, reopen = () => unreachable('LMDB is opened again') } = temporaryLmdb
const many = 6_000
const key = (i: number): string => `k${String(i).padStart(5, '0')}`
const puts = (value: string) => Array.from({ length: many }, (_, i) => put(key(i), value))

async function storedAt(store: Store, text: string): Promise<string | undefined> {
  const snapshot = await store.snapshot()
  const value = await snapshot.view(bytes(text), (found) => Buffer.from(found).toString())
  snapshot.release()
  return value
}

/** What others read in each turn that they get during a commit. */
async function readDuring(store: Store, commit: Commit, read: () => Promise<string>): Promise<Set<string>> {
  const seen = new Set<string>()
  let isOver = false
  const committed = store.commit(commit).finally(() => {
    isOver = true
  })
  while (!isOver) {
    await new Promise((resolve) => setImmediate(resolve))
    if (!isOver) seen.add(await read())
  }
  await committed
  return seen
}

it('others have their turn while a large commit is checked and applied', async () => {
  const store = await open()
  const preconditions = Array.from({ length: many }, (_, i) => absent(key(i)))
  const turns = await turnsDuring(() => store.commit(commitOf(puts('1'), preconditions)))
  // A look at the clock each 32 steps, five of which are a slice: of keys and values, of preconditions, of writes.
  expect(turns).toBeGreaterThan((3 * many) / 32 / 6)
  expect(await entriesIn(store)).toHaveLength(many)
  await store.close()
})

it('others have their turn while the keys of ranges are checked, in one range or in many', async () => {
  const store = await open()
  await store.commit(commitOf(puts('1')))
  const keysPerRange = 300
  const ranges = (length: number) =>
    Array.from({ length: many / length }, (_, i) => {
      const from = i * length
      const keys = Array.from({ length }, (_, j) => bytes(key(from + j)))
      const range = { from: bytes(key(from)), to: bytes(key(from + length)) }
      return { kind: 'range', range, keys, rangeLockKey: bytes('k') } as const
    })
  const { compare } = Buffer
  let [compared, longest, isOver] = [0, 0, false]
  vi.spyOn(Buffer, 'compare').mockImplementation((one, other) => {
    longest = Math.max(longest, ++compared)
    return compare(one, other)
  })
  const begin = (): void => {
    compared = 0
    if (!isOver) setImmediate(begin)
  }
  begin()
  for (const length of [keysPerRange, many]) {
    longest = 0
    await turnsDuring(() => store.commit(commitOf([put('other', '1')], ranges(length))))
    // A look at the clock for about 500 keys, five of which are a slice; those of the commit are compared, too.
    expect(longest, `${length} keys in each range`).toBeGreaterThan(500)
    expect(longest, `${length} keys in each range`).toBeLessThan(5_000)
  }
  isOver = true
  vi.restoreAllMocks()
  await store.close()
})

it('others read what was there before until it is durable, by key and by range', async () => {
  const store = await open()
  await store.commit(commitOf([put('k', 'old'), ...puts('old')]))
  const seen = new Set<string>()
  await turnsDuring(async () => {
    const read = async (): Promise<string> => {
      const snapshot = await store.snapshot()
      const { values, ranges } = await snapshot.read(
        [bytes(key(0)), bytes(key(many - 1))],
        [{ from: bytes('k'), limit: 3 }],
      )
      snapshot.release()
      return [...values, ...(ranges[0] ?? []).map(({ value }) => value)].map((value) => Buffer.from(value ?? [])).join()
    }
    for (const one of await readDuring(store, commitOf(puts('new')), read)) seen.add(one)
  })
  // What is durable may be read before it is acknowledged, but never a part of it.
  seen.delete('new,new,old,new,new')
  expect([...seen]).toEqual(['old,old,old,old,old'])
  expect(await storedAt(store, key(0))).toBe('new')
  await store.close()
})

it('a snapshot that is older goes on showing what it did, and one that counts waits for the count', async () => {
  const store = await open()
  await store.commit(commitOf(puts('old')))
  const before = await store.snapshot()
  await turnsDuring(async () => {
    const committed = store.commit(commitOf([put('more', '1'), ...puts('new')]))
    await new Promise((resolve) => setTimeout(resolve, 1))
    const counted = await store.snapshot({ isCounted: true })
    expect([many, many + 1]).toContain(counted.entryCount)
    let entries = 0
    for await (const batch of counted.scan({}, () => 1)) entries += batch.length
    expect(counted.entryCount).toBe(entries)
    counted.release()
    await committed
  })
  expect(await before.view(bytes(key(7)), (found) => Buffer.from(found).toString())).toBe('old')
  before.release()
  await store.close()
})

it('a precondition that fails is told as it was given, also a range of many keys, and nothing is changed', async () => {
  const store = await open()
  await store.commit(commitOf([put('guard', '1'), ...puts('old')]))
  const holds = Array.from({ length: many }, (_, i) => bytes(key(i)))
  const range = { from: bytes('k'), to: bytes('l') }
  const whole = { kind: 'range', range, keys: holds, rangeLockKey: bytes('guard') } as const
  expect(await store.commit(commitOf([put('made', '1')], [whole]))).toEqual({ isCommitted: true })
  for (const wrong of [
    { ...whole, keys: holds.filter((_, i) => i !== 3_000) },
    { ...whole, keys: [...holds, bytes('k99999')] },
    { ...whole, keys: holds.toSpliced(500, 0, bytes('k00499a')) },
    { ...whole, range: { from: bytes('g'), to: bytes('l') } },
  ]) {
    const outcome = await store.commit(commitOf(puts('new'), [present('guard'), wrong]))
    expect(outcome).toEqual({ isCommitted: false, failed: wrong })
    expect(!outcome.isCommitted && outcome.failed === wrong).toBe(true)
  }
  expect(await storedAt(store, key(0))).toBe('old')
  await store.close()
})

it('commits that come meanwhile follow it, each whole', async () => {
  const store = await open()
  const outcomes = await Promise.all([
    store.commit(commitOf([put('first', '1')])),
    store.commit(commitOf(puts('1'), [present('first')])),
    store.commit(commitOf([put(key(3), '2')], [present(key(many - 1))])),
    store.commit(commitOf(puts('3'), [present(key(3))])),
    store.commit(commitOf([put('last', '1')], [absent(key(4))])),
  ])
  expect(outcomes.map(({ isCommitted }) => isCommitted)).toEqual([true, true, true, true, false])
  expect(await storedAt(store, key(3))).toBe('3')
  await store.close()
})

it('one that breaks in the middle leaves nothing, and the next goes through', async () => {
  const store = await open()
  const broken = {
    length: 3,
    get 0() {
      throw new Error('broken bytes')
    },
  }
  const change = { kind: 'put', key: bytes('z'), value: broken as unknown as Uint8Array } as const
  await expect(store.commit(commitOf([...puts('1'), change]))).rejects.toThrow('broken bytes')
  expect(await entriesIn(store)).toEqual([])
  expect(await store.commit(commitOf(puts('2')))).toEqual({ isCommitted: true })
  expect(await entriesIn(store)).toHaveLength(many)
  await store.close()
})

it.each([
  ['at once', 500],
  ['in slices', 1_000],
])('what commits that are applied %s append between other entries fills its pages', async (_, created) => {
  const store = await open()
  const kinds = ['a', 'b', 'c']
  await store.commit(commitOf(kinds.map((kind) => put(`${kind}~`, 'behind those of its kind'))))
  const before = (await store.stats()).bytes
  const entries = kinds.length * 20_000
  for (let from = 0; from < 20_000; from += created) {
    const numbers = Array.from({ length: created }, (_, i) => String(from + i).padStart(6, '0'))
    await store.commit(commitOf(numbers.flatMap((nth) => kinds.map((kind) => put(kind + nth, 'v'.repeat(39))))))
  }
  const entryBytes = 10 + 7 + 39 + 4
  expect(((await store.stats()).bytes - before) / (entries * entryBytes)).toBeLessThan(1.35)
  await store.close()
})

it('what is appended behind all others, as a copy does, leaves no room', async () => {
  const store = await open()
  const before = (await store.stats()).bytes
  for (let from = 0; from < 20_000; from += 1_000) {
    const numbers = Array.from({ length: 1_000 }, (_, i) => String(from + i).padStart(6, '0'))
    const changes = numbers.map((nth) => put(`a${nth}`, 'v'.repeat(39)))
    await store.commit({ ...commitOf(changes), isAppended: true })
  }
  expect(((await store.stats()).bytes - before) / (20_000 * (10 + 7 + 39 + 4))).toBeLessThan(1.1)
  await store.close()
})

it('closing waits for it', async () => {
  const store = await open()
  const committed = store.commit(commitOf(puts('1')))
  const reopened = await reopen(store)
  expect(await committed).toEqual({ isCommitted: true })
  expect(await entriesIn(reopened)).toHaveLength(many)
  await reopened.close()
})

const mebibyte = 1_048_576
const large = (n: number, with_: number) =>
  Array.from(
    { length: n },
    (_, i) => ({ kind: 'put', key: bytes(key(i)), value: Buffer.alloc(mebibyte, with_) }) as const,
  )

/** The most values of a mebibyte that are summed up or read between two turns, each look at the clock being a millisecond later. */
async function largestSlice(act: () => Promise<unknown>): Promise<number> {
  let [seen, most] = [0, 0]
  const { subarray } = Buffer.prototype
  Buffer.prototype.subarray = function (this: Buffer, start?: number, end?: number) {
    const part = subarray.call(this, start, end)
    if (part.length >= mebibyte) most = Math.max(most, ++seen)
    return part
  }
  let isOver = false
  const begin = (): void => {
    seen = 0
    if (!isOver) setImmediate(begin)
  }
  begin()
  try {
    await turnsDuring(act)
  } finally {
    isOver = true
    Buffer.prototype.subarray = subarray
  }
  return most
}

it('others have their turn between few values that are large, whether they are written or only expected', async () => {
  const store = await open()
  const count = 24
  // A look at the clock after each of them, five of which are a slice; what is read is passed on as well, and a part of it may be read again.
  const mostWritten = 7
  const mostRead = 2 * 9
  const written = await largestSlice(() => store.commit({ changes: large(count, 1), preconditions: [] }))
  expect(written).toBeGreaterThan(0)
  expect(written).toBeLessThanOrEqual(mostWritten)
  const preconditions = large(count, 1).map(
    ({ key: expected }) => ({ kind: 'revision', key: expected, prefix: Buffer.alloc(4, 1) }) as const,
  )
  const changes = preconditions.map((one) => ({ kind: 'delete', key: one.key }) as const)
  const read = await largestSlice(async () => {
    const small = commitOf([put('small', '1')])
    const outcomes = await Promise.all([store.commit(small), store.commit({ changes, preconditions })])
    expect(outcomes).toEqual([{ isCommitted: true }, { isCommitted: true }])
  })
  expect(read).toBeGreaterThan(0)
  expect(read).toBeLessThanOrEqual(mostRead)
  expect(await entriesIn(store)).toHaveLength(1)
  // One that fails tells so, with nothing changed.
  await store.commit({ changes: large(count, 2), preconditions: [] })
  const failing = await store.commit({ changes, preconditions })
  expect(failing).toEqual({ isCommitted: false, failed: preconditions[0] })
  expect(await entriesIn(store)).toHaveLength(count + 1)
  await store.close()
})
