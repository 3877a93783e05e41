/** What a commit of packed rows does: what the same rows do one by one, on any store. */
import { expect, it } from 'vitest'
import { catalogVersionKey } from '../../src/bytes/key-space.ts'
import { keyPlacement } from '../../src/storage/key-placement.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { scanAppended } from '../../src/store/append-blocks.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { PackedChanges, PackedPreconditions, type PackedRows } from '../../src/store/packed-rows.ts'
import { commitLocks } from '../../src/store/postgres/commit-locks.ts'
import type { Commit, Precondition, Store } from '../../src/store/store.ts'
import { runToEnd } from '../../src/store/time-slice.ts'
import { RowPacker } from '../../src/transaction/row-packer.ts'
import { bytes, commitOf, entriesIn, present, put, revision, text, withSnapshot } from './bytes.ts'
import { freshAddress } from './postgres-stores.ts'
import { temporaryLmdb } from './temporary-stores.ts'

const object = '\x03\x00\x03\x00\x05'
const index = '\x05\x00\x00\x00\x01'
const version: Precondition = { kind: 'revision', key: catalogVersionKey, prefix: bytes('7;') }

function rowsOf(keys: readonly string[], areNew: boolean): PackedRows | undefined {
  const packer = new RowPacker(areNew, 1, 1)
  for (const key of keys) {
    packer.addKey(bytes(`${key}…`), key.length, bytes('!'))
    packer.addValue(bytes(`value of ${key}`))
  }
  const rows = runToEnd(packer.packed())
  return 'duplicates' in rows ? undefined : rows
}

function packed(all: readonly PackedRows[], others: readonly Precondition[] = []): Commit {
  return { changes: new PackedChanges(all), preconditions: new PackedPreconditions(others, all) }
}

function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${(i * 7_919) % 10_007}`)
}

const stores: readonly [string, () => Promise<Store>][] = [
  ['PostgreSQL', () => openStore(freshAddress())],
  ['LMDB', () => temporaryLmdb.open()],
]

it.each(stores)('rows that are new and others, on %s', async (_name, open) => {
  const first = commitOf([{ kind: 'put', key: catalogVersionKey, value: bytes('7;') }, put('model', '3;x')])
  const [store, memory] = [await open(), await openMemoryStore()]
  const all = [
    rowsOf(numbered(object, 700), false) as PackedRows,
    rowsOf(numbered(index, 600), true) as PackedRows,
    rowsOf([`${index}null`], false) as PackedRows,
  ]
  const commit = packed(all, [version, present('model'), revision('model', '3;')])
  for (const one of [store, memory]) {
    await one.commit(first)
    expect(await one.commit(commit)).toEqual({ isCommitted: true })
  }
  expect(await entriesIn(store)).toEqual(await entriesIn(memory))
  expect(await entriesIn(store)).toHaveLength(1_303)
  // All are there now: the first new one is told.
  const outcome = await store.commit(commit)
  const [least] = [...new PackedPreconditions([], all)]
  expect(outcome).toEqual({ isCommitted: false, failed: least })
  const missing = present('no model')
  expect(await store.commit(packed(all, [version, missing]))).toEqual({ isCommitted: false, failed: missing })
  const older: Precondition = { kind: 'revision', key: catalogVersionKey, prefix: bytes('6;') }
  expect(await store.commit(packed(all, [older, missing]))).toEqual({ isCommitted: false, failed: older })
  expect(await entriesIn(store)).toHaveLength(1_303)
  await store.close()
  await memory.close()
})

it('keys and values of every length up to some hundred bytes, on LMDB', async () => {
  const [store, memory] = [await temporaryLmdb.open(), await openMemoryStore()]
  const packer = new RowPacker(true, 1, 1)
  for (let length = 0; length < 400; length++) {
    for (let nth = 0; nth < 6; nth++) {
      const key = bytes(`${index}${nth}${'k'.repeat(length % 200)}${length}`)
      packer.addKey(key, key.length, undefined)
      packer.addValue(bytes('v'.repeat(length)))
    }
  }
  const rows = runToEnd(packer.packed()) as PackedRows
  for (const one of [memory, store]) expect(await one.commit(packed([rows]))).toEqual({ isCommitted: true })
  expect(await entriesIn(store)).toEqual(await entriesIn(memory))
  expect(await entriesIn(store)).toHaveLength(2_400)
  await store.close()
  await memory.close()
})

it('new keys come in order, and none twice', () => {
  const rows = rowsOf(numbered(index, 5_000), true) as PackedRows
  const keys: string[] = []
  for (const change of new PackedChanges([rows])) {
    const key = text(change.key)
    keys.push(key)
    expect(change).toMatchObject({ kind: 'put', value: bytes(`value of ${key.slice(0, -1)}`) })
  }
  expect(keys).toEqual([...keys].sort())
  expect(new Set(keys).size).toBe(5_000)
  expect(rowsOf([...numbered(index, 300), `${index}${7_919}`], true)).toBeUndefined()
})

it('are sent as they lie only where nothing else is required than a version, and keys that are there', () => {
  const all = [rowsOf(numbered(index, 60), true) as PackedRows]
  const sent = (commit: Commit) => runToEnd(commitLocks(commit, keyPlacement, true)).packed
  expect(sent(packed(all, [version, present('model')]))?.added).toHaveLength(1)
  const absent: Precondition = { kind: 'absent', key: bytes('elsewhere') }
  expect(sent(packed(all, [version, absent]))).toBeUndefined()
  expect(sent(commitOf([put('key', 'value')]))).toBeUndefined()
})

it.each(stores)('what they append is appended with them, and they are sent as they lie, on %s', async (_name, open) => {
  const prefix = bytes('\x07\x00\x00\x00\x00\x01')
  const all = [rowsOf(numbered(object, 300), false) as PackedRows, rowsOf(numbered(index, 300), true) as PackedRows]
  const commit: Commit = { ...packed(all), append: { prefix, values: ['a', 'bc', ''].map(bytes) } }
  expect(runToEnd(commitLocks(commit, keyPlacement, true)).packed?.hasUnnumbered).toBe(true)
  const store = await open()
  expect(await store.commit(commit)).toEqual({ isCommitted: true })
  const appended: string[] = []
  await withSnapshot(store, async (snapshot) => {
    for await (const batch of scanAppended(snapshot, prefix, 1, Number.MAX_SAFE_INTEGER))
      appended.push(...batch.map(({ value }) => text(value)))
  })
  expect(appended).toEqual(['a', 'bc', ''])
  // Refused whole.
  expect(await store.commit(commit)).toMatchObject({ isCommitted: false })
  expect((await entriesIn(store)).length).toBeGreaterThanOrEqual(600)
  await store.close()
})
