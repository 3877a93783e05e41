/** What a large commit does on PostgreSQL, where most of its keys are new: the same as on any other store, whichever way it goes. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { catalogVersionKey } from '../../src/bytes/key-space.ts'
import { keyPlacement } from '../../src/storage/key-placement.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { BulkCall, type BulkCommit, bulkCommit } from '../../src/store/postgres/bulk-commit.ts'
import { CommitGroup } from '../../src/store/postgres/commit-group.ts'
import { commitLocks } from '../../src/store/postgres/commit-locks.ts'
import type { Change, Commit, Precondition, Store } from '../../src/store/store.ts'
import { atOnce } from '../../src/store/time-slice.ts'
import { runs } from '../bytes/property-runs.ts'
import { absent, bytes, commitOf, entriesIn, present, put, remove, revision } from './bytes.ts'
import { freshAddress } from './postgres-stores.ts'

/** Keys of several placements: of objects, of entries, and of the root. */
const spaces = ['\x03\x00\x03\x00\x05', '\x05\x00\x00\x00\x01', '\x05\x00\x00\x00\x02', '\x02']

function keyOf(space: number, number: number): string {
  return `${spaces[space]}${String(number).padStart(5, '0')}`
}

function puts(count: number, space = 0): Change[] {
  return Array.from({ length: count }, (_, i) => put(keyOf(space, i), `value ${i}`))
}

/** As a transaction has it: the key of both is the same. */
function absentOf({ key }: Change): Precondition {
  return { kind: 'absent', key }
}

function bulkOf(commit: Commit): BulkCommit | undefined {
  return atOnce(bulkCommit(commit, keyPlacement))
}

const version: Precondition = { kind: 'revision', key: catalogVersionKey, prefix: bytes('7;') }

async function withStores(use: (store: Store, memory: Store) => Promise<void>): Promise<void> {
  const store = await openStore(freshAddress())
  const memory = await openMemoryStore()
  try {
    const first = commitOf([{ kind: 'put', key: catalogVersionKey, value: bytes('7;') }, put('model', '3;x')])
    for (const one of [store, memory]) expect(await one.commit(first)).toEqual({ isCommitted: true })
    await use(store, memory)
  } finally {
    await store.close()
    await memory.close()
  }
}

it('is made of new keys and of others in any order, beside what is required of others', async () => {
  await withStores(async (store, memory) => {
    const unique = puts(200, 1).reverse()
    const changes = [...unique.flatMap((change, i) => [put(keyOf(0, 999 - i), 'object'), change]), ...puts(150, 2)]
    const commit = commitOf(changes, [version, ...unique.map(absentOf), present('model'), revision('model', '3;')])
    expect(bulkOf(commit)?.buckets.map(({ added, blind }) => [added.length, blind.length])).toEqual([
      [0, 200],
      [200, 0],
      [0, 150],
    ])
    for (const one of [store, memory]) expect(await one.commit(commit)).toEqual({ isCommitted: true })
    expect(await entriesIn(store)).toEqual(await entriesIn(memory))
  })
})

it('is refused as a whole, with the precondition that does not hold', async () => {
  await withStores(async (store) => {
    const unique = puts(300, 1).reverse()
    const taken = unique[17] as Change
    await store.commit(commitOf([taken]))
    const before = await entriesIn(store)
    const refused = async (preconditions: readonly Precondition[], failed: Precondition): Promise<void> => {
      const outcome = await store.commit(commitOf([...unique, ...puts(10)], preconditions))
      expect(outcome.isCommitted ? undefined : outcome.failed).toBe(failed)
      expect(await entriesIn(store)).toEqual(before)
    }
    const required = unique.map(absentOf)
    await refused([version, ...required, present('model')], required[17] as Precondition)
    const missing = present('no model')
    await refused([version, missing], missing)
    const old = revision('model', '2;')
    await refused([present('model'), old], old)
    const oldVersion: Precondition = { ...version, prefix: bytes('6;') } as Precondition
    await refused([oldVersion, missing, ...required], oldVersion)
  })
})

it('is refused before the statement takes too long, where one of very many keys is taken', async () => {
  await withStores(async (store) => {
    const unique = puts(20_000, 1)
    const required = unique.map(absentOf)
    await store.commit(commitOf([unique[19_995] as Change]))
    const outcome = await store.commit(commitOf(unique, required))
    expect(outcome.isCommitted ? undefined : outcome.failed).toBe(required[19_995])
    expect(await entriesIn(store)).toHaveLength(3)
  })
})

it('of two that add the same keys at once, in opposite orders, one is made', async () => {
  await withStores(async (store) => {
    const one = puts(400, 1)
    const other = puts(400, 1).reverse()
    const outcomes = await Promise.all(
      [one, other].map((changes) => store.commit(commitOf(changes, [version, ...changes.map(absentOf)]))),
    )
    expect(outcomes.filter(({ isCommitted }) => isCommitted)).toHaveLength(1)
    expect(await entriesIn(store)).toHaveLength(402)
  })
})

/** How many pieces there are, between which others have their turn, and what comes of them. */
function piecesOf<T>(pieces: Iterator<undefined, T>): { readonly count: number; readonly result: T } {
  for (let count = 1; ; count++) {
    const piece = pieces.next()
    if (piece.done === true) return { count, result: piece.value }
  }
}

it('a small commit has one piece, and a large one so many that none of them takes long', () => {
  const small = commitOf(puts(200).reverse())
  const ofSmall = piecesOf(bulkCommit(small, keyPlacement))
  expect(ofSmall.count).toBe(1)
  expect(piecesOf(new BulkCall(ofSmall.result as BulkCommit).toParameters()).count).toBe(1)
  expect(piecesOf(commitLocks(small, keyPlacement)).count).toBe(1)
  const large = commitOf(puts(50_000).reverse(), [version])
  const { count, result } = piecesOf(bulkCommit(large, keyPlacement))
  expect(count).toBeGreaterThan(100)
  expect(piecesOf(new BulkCall(result as BulkCommit).toParameters()).count).toBeGreaterThan(50)
  const locks = piecesOf(commitLocks(large, keyPlacement))
  expect(locks.count).toBeGreaterThan(50)
  const group = piecesOf(CommitGroup.ofOne(locks.result, keyPlacement))
  expect(group.count).toBeGreaterThan(40)
  expect(piecesOf(group.result.toParameters('together')).count).toBeGreaterThan(100)
})

it('a large commit that also deletes does what it does on any other store, beside small ones', async () => {
  await withStores(async (store, memory) => {
    const old = puts(6_000, 1)
    const small = [puts(5, 2), puts(5, 0)]
    const changes = [...old.map(({ key }): Change => ({ kind: 'delete', key })), ...puts(6_000, 3).reverse()]
    for (const one of [store, memory]) {
      await one.commit(commitOf(old))
      const commits = [commitOf(changes, [version, present('model')]), ...small.map((few) => commitOf(few, [version]))]
      const outcomes = await Promise.all(commits.map((commit) => one.commit(commit)))
      expect(outcomes.every(({ isCommitted }) => isCommitted)).toBe(true)
      const missing = present('no model')
      expect(await one.commit(commitOf(changes, [missing]))).toMatchObject({ isCommitted: false, failed: missing })
    }
    expect(await entriesIn(store)).toEqual(await entriesIn(memory))
  })
})

it.each<[string, Commit]>([
  ['has few changes', commitOf(puts(100))],
  ['deletes', commitOf([...puts(200), remove('model')])],
  ['changes the version', commitOf([...puts(200), { kind: 'put', key: catalogVersionKey, value: bytes('8;') }])],
  ['writes what it requires to be there', commitOf([...puts(200), put('model', '4;')], [revision('model', '3;')])],
  ['requires another key to be absent', commitOf(puts(200), [absent('nothing')])],
  ['writes a key twice', commitOf([...puts(200), put(keyOf(0, 7), 'again')])],
  ['requires a key to be absent that it writes under another name', commitOf(puts(200), [absent(keyOf(0, 7))])],
])('what %s goes the way of all commits', (_, commit) => {
  expect(bulkOf(commit)).toBeUndefined()
})

const key = fc.tuple(fc.nat(spaces.length - 1), fc.nat(40)).map(([space, number]) => keyOf(space, number))
const change = fc.tuple(key, fc.nat(9)).map(([name, kind]) => (kind === 0 ? remove(name) : put(name, `${kind}`)))
const precondition = fc.tuple(key, fc.nat(2)).map(([name, kind]) => {
  return kind === 0 ? absent(name) : kind === 1 ? present(name) : revision(name, '1')
})
const commit = fc
  .record({
    changes: fc.uniqueArray(change, {
      maxLength: 30,
      selector: ({ key: bytesOf }) => Buffer.from(bytesOf).toString('hex'),
    }),
    areNew: fc.boolean(),
    from: fc.nat(3_000),
    preconditions: fc.array(precondition, { maxLength: 2 }),
  })
  .map(({ changes, areNew, from, preconditions }) => {
    const many = Array.from({ length: 130 }, (_, i) => put(keyOf(i % 3, 100 + from + ((i * 7) % 130)), 'new'))
    const added = areNew ? many.filter((_, i) => i % 3 === 1) : []
    return commitOf([...changes, ...many], [...preconditions, ...added.map(absentOf)])
  })

it('large commits in a row leave what they leave in memory', async () => {
  await withStores(async (store, memory) => {
    await fc.assert(
      fc.asyncProperty(fc.array(commit, { minLength: 1, maxLength: 4 }), async (commits) => {
        for (const one of commits) {
          const outcome = await store.commit(one)
          const inMemory = await memory.commit(one)
          expect(outcome.isCommitted).toBe(inMemory.isCommitted)
          if (!outcome.isCommitted) expect([...one.preconditions]).toContain(outcome.failed)
        }
        expect(await entriesIn(store)).toEqual(await entriesIn(memory))
      }),
      runs(20),
    )
  })
})
