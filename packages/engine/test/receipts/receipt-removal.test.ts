/** The removal of ended receipts: reads no replies, passes over damage, and does not believe a clock that steps. */
import { expect, it } from 'vitest'
import type { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { endKey, receiptKey, receiptRange } from '../../src/receipts/receipt-entry.ts'
import { ReceiptRemoval, removeEndedReceipts } from '../../src/receipts/receipt-removal.ts'
import { openStore } from '../../src/storage/open-store.ts'
import type { Commit, Precondition, Store } from '../../src/store/store.ts'
import { flipBit } from '../store/damage.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { temporaryDirectory } from '../store/temporary-stores.ts'
import { part } from './create-part.ts'

const minute = 60_000
const hour = 60 * minute
const receiptMs = 24 * hour

async function receiptsIn(store: Store): Promise<number> {
  const snapshot = await store.snapshot()
  let count = 0
  for await (const batch of snapshot.scan(receiptRange, () => 1, { onDamage: () => undefined })) count += batch.length
  snapshot.release()
  return count
}

async function withReceipts(store: Store, keys: readonly string[], replyBytes = 20): Promise<void> {
  const fd = await FederatedDatabase.open({ alias: 'test', store: { ...store, close: async () => undefined } })
  await fd.defineClasses([part], 'createOrExtend')
  const replyOf = (): Buffer => Buffer.alloc(replyBytes)
  for (const key of keys) {
    const once = { request: { caller: '', key, fingerprint: Buffer.alloc(32) }, replyOf }
    await fd.transaction((step) => step(1).createObject('Part', { code: 1 }), false, once)
  }
  await fd.close()
}

function preconditionBytes(precondition: Precondition): number {
  return precondition.kind === 'revision' ? precondition.prefix.length : 0
}

it('neither reads nor sends a reply', async () => {
  const store = await openStoreOfRun()
  await withReceipts(store, ['a', 'b', 'c'], 60_000)
  let bytes = 0
  const snapshot = async (...given: Parameters<Store['snapshot']>): Promise<Awaited<ReturnType<Store['snapshot']>>> => {
    const real = await store.snapshot(...given)
    return {
      view: (key, use) =>
        real.view(key, (value) => {
          bytes += value.length
          return use(value)
        }),
      read: async (keys, ranges) => {
        const answer = await real.read(keys, ranges)
        for (const value of answer.values) bytes += value?.length ?? 0
        for (const { value } of answer.ranges.flat()) bytes += value.length
        return answer
      },
      scan: (range, use, options) =>
        real.scan(
          range,
          (key, value) => {
            bytes += value.length
            return use(key, value)
          },
          options,
        ),
      release: () => real.release(),
    }
  }
  const commit = (given: Commit): ReturnType<Store['commit']> => {
    bytes += [...given.preconditions].reduce((sum, one) => sum + preconditionBytes(one), 0)
    return store.commit(given)
  }
  expect(await removeEndedReceipts({ ...store, snapshot, commit }, Date.now() + 25 * hour)).toBe(3)
  expect(bytes).toBe(0)
  expect(await receiptsIn(store)).toBe(0)
  await store.close()
})

it('passes over damage, which is told once, and removes damaged replies', async () => {
  const directory = await temporaryDirectory()
  const first = await openStore(`lmdb:${directory}`)
  await withReceipts(first, ['damaged reply', 'damaged end', 'sound'])
  await first.close()
  const end = await endOf(directory, 'damaged end')
  // A byte of the fingerprint, and one of the checksum.
  flipBit(directory, receiptKey({ caller: '', key: 'damaged reply' }), { at: 30 })
  flipBit(directory, end, { at: end.length })
  const store = await openStore(`lmdb:${directory}`)
  const told: unknown[] = []
  let now = Date.now()
  const clocks = { wall: () => now, monotonic: () => now }
  const removal = new ReceiptRemoval(store, receiptMs, (error) => told.push(error), clocks)
  await removal.removeExpired()
  now += 25 * hour
  expect(await removal.removeExpired()).toBe(2)
  const toldFirst = told.length
  expect(await removal.removeExpired()).toBe(0)
  expect(told).toHaveLength(toldFirst)
  expect(new Set(told.map((error) => (error as AshlarError).type))).toEqual(new Set(['DataCorruption']))
  expect(await receiptsIn(store)).toBe(1)
  await store.close()
})

async function endOf(directory: string, name: string): Promise<Buffer> {
  const store = await openStore(`lmdb:${directory}`)
  const snapshot = await store.snapshot()
  const key = receiptKey({ caller: '', key: name })
  const value = Buffer.from((await snapshot.read([key])).values[0] ?? [])
  snapshot.release()
  await store.close()
  return endKey(key, value.readUInt32BE(1))
}

it('leaves what another process is removing to that one', async () => {
  const store = await openStoreOfRun()
  await withReceipts(store, ['a'])
  let commits = 0
  const commit = async (given: Commit): ReturnType<Store['commit']> => {
    if (++commits === 1) await store.commit(given)
    return store.commit(given)
  }
  expect(await removeEndedReceipts({ ...store, commit }, Date.now() + 25 * hour)).toBe(0)
  expect(commits).toBe(1)
  await store.close()
})

interface SetClocks {
  wall: number
  monotonic: number
}

function removalBy(store: Store, set: SetClocks): ReceiptRemoval {
  const fail = (error: unknown): never => {
    throw error
  }
  return new ReceiptRemoval(store, receiptMs, fail, { wall: () => set.wall, monotonic: () => set.monotonic })
}

it('removes nothing because a clock is set forward while the process runs', async () => {
  const store = await openStoreOfRun()
  await withReceipts(store, ['key'])
  const set = { wall: Date.now(), monotonic: 5 }
  const removal = removalBy(store, set)
  expect(await removal.removeExpired()).toBe(0)
  for (const passed of [minute, 12 * hour, 11 * hour]) {
    set.monotonic += passed
    set.wall += passed + (passed === minute ? 48 * hour : 0)
    expect(await removal.removeExpired()).toBe(0)
  }
  // By then it has been kept for its time, whatever the clock says.
  set.monotonic += hour + 2 * minute
  expect(await removal.removeExpired()).toBe(1)
  await store.close()
})

it('removes nothing because a process starts with a clock that is ahead', async () => {
  const store = await openStoreOfRun()
  await withReceipts(store, ['key'])
  const set = { wall: Date.now() + 1000 * hour, monotonic: 5 }
  const removal = removalBy(store, set)
  expect(await removal.removeExpired()).toBe(0)
  set.monotonic += 23 * hour
  expect(await removal.removeExpired()).toBe(0)
  set.monotonic += hour + 2 * minute
  expect(await removal.removeExpired()).toBe(1)
  await store.close()
})

it('removes what ends while both clocks go on, one of them a little faster', async () => {
  const store = await openStoreOfRun()
  await withReceipts(store, ['key'])
  const set = { wall: Date.now(), monotonic: 5 }
  const removal = removalBy(store, set)
  for (let passed = 0; passed < 24; passed++) {
    expect(await removal.removeExpired()).toBe(0)
    set.monotonic += hour - 1_000
    set.wall += hour
  }
  set.monotonic += 2 * minute
  set.wall += 2 * minute
  expect(await removal.removeExpired()).toBe(1)
  await store.close()
})
