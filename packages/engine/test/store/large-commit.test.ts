/** What a large commit does on PostgreSQL, where it has a call to itself: the same as on any other store. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { catalogVersionKey } from '../../src/bytes/key-space.ts'
import { keyPlacement } from '../../src/storage/key-placement.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { CommitCall } from '../../src/store/postgres/commit-call.ts'
import { commitLocks } from '../../src/store/postgres/commit-locks.ts'
import { encodeCall, plainLayout } from '../../src/store/postgres/encode-call.ts'
import type { Change, Commit, Precondition, Store } from '../../src/store/store.ts'
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
    const unique = puts(600, 1).reverse()
    const changes = [...unique.flatMap((change, i) => [put(keyOf(0, 999 - i), 'object'), change]), ...puts(150, 2)]
    const commit = commitOf(changes, [version, ...unique.map(absentOf), present('model'), revision('model', '3;')])
    for (const one of [store, memory]) expect(await one.commit(commit)).toEqual({ isCommitted: true })
    expect(await entriesIn(store)).toEqual(await entriesIn(memory))
  })
})

it('is refused as a whole, with the precondition that does not hold', async () => {
  await withStores(async (store) => {
    const unique = puts(1_100, 1).reverse()
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
    const one = puts(1_200, 1)
    const other = puts(1_200, 1).reverse()
    const outcomes = await Promise.all(
      [one, other].map((changes) => store.commit(commitOf(changes, [version, ...changes.map(absentOf)]))),
    )
    expect(outcomes.filter(({ isCommitted }) => isCommitted)).toHaveLength(1)
    expect(await entriesIn(store)).toHaveLength(1_202)
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
  const small = piecesOf(commitLocks(commitOf(puts(200).reverse()), keyPlacement, true))
  expect(small.count).toBe(1)
  const call = new CommitCall(keyPlacement)
  call.add(small.result)
  const layout = plainLayout(keyPlacement)
  expect(piecesOf(encodeCall(call, layout)).count).toBe(1)
  const locks = piecesOf(commitLocks(commitOf(puts(50_000).reverse(), [version]), keyPlacement, true))
  expect(locks.count).toBeGreaterThan(50)
  const large = new CommitCall(keyPlacement)
  expect(piecesOf(large.adding(locks.result)).count).toBeGreaterThan(40)
  expect(piecesOf(encodeCall(large, layout)).count).toBeGreaterThan(100)
})

it('a commit that expects very many ranges has many pieces, too', () => {
  const ranges = Array.from({ length: 10_000 }, (_, i): Precondition => {
    const key = bytes(keyOf(1, i))
    return { kind: 'range', range: { from: key, to: bytes(keyOf(1, i + 1)) }, keys: [key], rangeLockKey: bytes('k') }
  })
  const call = new CommitCall(keyPlacement)
  call.add(piecesOf(commitLocks(commitOf([put('other', '1')], ranges), keyPlacement, true)).result)
  const { count, result } = piecesOf(encodeCall(call, plainLayout(keyPlacement)))
  expect((result.range_holds as Buffer).toString('latin1')).toContain(Buffer.from(keyOf(1, 9_999)).toString('hex'))
  // Of 250 ranges each, and one for each column of theirs.
  expect(count).toBeGreaterThan(45)
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

const many = puts(1_100, 1)

it.each<[string, Commit, readonly Precondition[]]>([
  ['changes the version', commitOf([...many, { kind: 'put', key: catalogVersionKey, value: bytes('8;') }]), []],
  ['writes what it requires to be there', commitOf([...many, put('model', '4;')], [revision('model', '3;')]), []],
  ['requires another key to be absent', commitOf(many, [absent('nothing')]), []],
  ['deletes what it requires to be there', commitOf([...many, remove('model')], [present('model')]), []],
  [
    'requires a key to be absent that is there, and is not written',
    commitOf(many, [...many.map(absentOf), absent('model')]),
    [absent('model')],
  ],
  [
    'requires a key to be absent and deletes it',
    commitOf([...many, remove('model')], [absent('model')]),
    [absent('model')],
  ],
  [
    'requires what a range holds, which is no longer true',
    commitOf(many, [
      ...many.map(absentOf),
      { kind: 'range', range: { from: bytes('model') }, keys: [], rangeLockKey: bytes('lock') },
    ]),
    [{ kind: 'range', range: { from: bytes('model') }, keys: [], rangeLockKey: bytes('lock') }],
  ],
])('one that %s does what it does in memory', async (_, commit, failed) => {
  await withStores(async (store, memory) => {
    for (const one of [store, memory]) {
      const outcome = await one.commit(commit)
      expect(outcome.isCommitted ? [] : [outcome.failed]).toEqual(failed)
    }
    expect(await entriesIn(store)).toEqual(await entriesIn(memory))
  })
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
    const others = Array.from({ length: 1_100 }, (_, i) => put(keyOf(i % 3, 100 + from + ((i * 7) % 1_100)), 'new'))
    const added = areNew ? others.filter((_, i) => i % 3 === 1) : []
    return commitOf([...changes, ...others], [...preconditions, ...added.map(absentOf)])
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
