/** Failed assertions: a fault of ours where snapshots are whole, perhaps read skew where they are not. */
import { expect, it } from 'vitest'
import { AssertionFailed, assert, unreachable } from '../../src/errors.ts'
import { readSkewRetriesMax } from '../../src/limits.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { SnapshotOptions, Store } from '../../src/store/store.ts'
import { withSnapshot } from '../../src/store/with-snapshot.ts'
import { transact } from '../../src/transaction/transact.ts'

/** Tells which snapshots it was asked for. */
async function openStore(
  snapshotsAreWhole: boolean,
): Promise<{ store: Store; asked: (SnapshotOptions | undefined)[] }> {
  const memory = await openMemoryStore()
  const asked: (SnapshotOptions | undefined)[] = []
  const store: Store = {
    ...memory,
    facts: { ...memory.facts, snapshotsAreWhole },
    snapshot(options) {
      asked.push(options)
      return memory.snapshot(options)
    },
  }
  return { store, asked }
}

it('a change is not tried again where snapshots are whole', async () => {
  const { store, asked } = await openStore(true)
  await expect(transact(store, 50, () => assert(false, 'one is two'))).rejects.toThrow(AssertionFailed)
  expect(asked).toHaveLength(1)
})

it('a change is tried a few times more where they are not, each time after commits under way, and then the failure is told', async () => {
  const { store, asked } = await openStore(false)
  await expect(transact(store, 50, () => unreachable('one is two'))).rejects.toThrow('assertion failed: one is two')
  const retries = Array.from({ length: readSkewRetriesMax }, () => [{ purpose: 'whole' }, undefined])
  expect(asked).toEqual([undefined, ...retries.flat()])
})

it('a change that is right in the end is made, without having been told of', async () => {
  const { store } = await openStore(false)
  let left = readSkewRetriesMax
  const key = Buffer.from('a')
  await transact(store, 50, (transaction) => {
    assert(left-- === 0, 'what was read fits together')
    transaction.put(key, key)
  })
  expect((await store.stats()).entries).toBe(1)
})

it('a read is run once more, on a whole snapshot, where snapshots are not', async () => {
  for (const isWhole of [true, false]) {
    const { store, asked } = await openStore(isWhole)
    const read = withSnapshot(store, async () => assert(false, 'one is two'), { purpose: 'reading' })
    await expect(read).rejects.toThrow(AssertionFailed)
    expect(asked).toEqual(isWhole ? [{ purpose: 'reading' }] : [{ purpose: 'reading' }, { purpose: 'whole' }])
  }
})
