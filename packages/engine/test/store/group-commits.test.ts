/** What cannot be put into a group is answered, and holds up nobody: PostgreSQL. */
import { expect, it } from 'vitest'
import { catalogVersionKey } from '../../src/bytes/key-space.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { joinKeys, keyRequest } from '../../src/store/postgres/key-requests.ts'
import type { Bytes, Commit, Precondition, Store } from '../../src/store/store.ts'
import { bytes, commitOf, present, put, valueIn } from './bytes.ts'
import { freshAddress } from './postgres-stores.ts'

const version: Precondition = { kind: 'revision', key: catalogVersionKey, prefix: bytes('1;') }

/** It throws when it is compared with the version that others require, and when it is sent. */
const withoutPrefix: Precondition = { kind: 'revision', key: catalogVersionKey, prefix: undefined as unknown as Bytes }

/** It throws when it is sent. */
const withoutBytes: Precondition = {
  kind: 'revision',
  key: bytes('a'),
  prefix: [Symbol('no byte')] as unknown as Bytes,
}

async function withStore(use: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore(freshAddress())
  try {
    await store.commit(commitOf([{ kind: 'put', key: catalogVersionKey, value: bytes('1;') }, put('a', 'abc')]))
    await use(store)
  } finally {
    // Ends only when every commit is answered.
    await store.close()
  }
}

function putting(key: string, ...preconditions: readonly Precondition[]): Commit {
  return commitOf([put(key, 'new')], preconditions)
}

it.each([
  ['added to a group', withoutPrefix],
  ['sent with a group', withoutBytes],
])('a commit that cannot be %s is rejected with that error; those before and behind it are made', async (_, bad) => {
  await withStore(async (store) => {
    const outcomes = await Promise.allSettled([
      store.commit(putting('b', version)),
      store.commit(putting('c', bad)),
      store.commit(putting('d', version)),
      store.commit(putting('e', bad, version)),
      store.commit(putting('f', version, present('missing'))),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect(outcomes[1]).toMatchObject({ reason: expect.any(TypeError) })
    expect(outcomes[4]).toMatchObject({ value: { isCommitted: false, failed: present('missing') } })
    const found = await Promise.all(['b', 'c', 'd', 'e', 'f'].map((key) => valueIn(store, key)))
    expect(found).toEqual(['new', undefined, 'new', undefined, undefined])
    expect(await store.commit(putting('g', version))).toEqual({ isCommitted: true })
  })
})

it('alone it is rejected too', async () => {
  await withStore(async (store) => {
    await expect(store.commit(putting('c', withoutPrefix))).rejects.toThrow(TypeError)
    await expect(store.commit(putting('c', withoutBytes))).rejects.toThrow(TypeError)
    expect(await store.commit(putting('b', version))).toEqual({ isCommitted: true })
  })
})

it('a request for something that is no key is rejected before it is joined with others', () => {
  const answers: unknown[] = []
  const answer = { resolve: (values: unknown) => answers.push(values), reject: () => undefined }
  expect(() => keyRequest([undefined as unknown as Bytes], 0, answer)).toThrow(TypeError)
  const joined = joinKeys([keyRequest([bytes('a'), bytes('b'), bytes('a')], 0, answer)], false)
  expect(joined.keys).toEqual([bytes('a'), bytes('b')])
  joined.resolve([bytes('1'), undefined])
  expect(answers).toEqual([[bytes('1'), undefined, bytes('1')]])
})
