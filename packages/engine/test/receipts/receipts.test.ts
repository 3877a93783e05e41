/** Receipts of requests that are carried out once: in one commit with what was done, met by other processes, and removed in time. */
import { randomBytes } from 'node:crypto'
import { describe, expect, inject, it, vi } from 'vitest'
import { keySpace } from '../../src/bytes/key-space.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { EngineLimits } from '../../src/limits.ts'
import { AlreadyDone } from '../../src/receipts/receipt.ts'
import { receiptKey, receiptRange } from '../../src/receipts/receipt-entry.ts'
import { removeEndedReceipts } from '../../src/receipts/receipt-removal.ts'
import { copyStore } from '../../src/storage/copy-store.ts'
import { openStore } from '../../src/storage/open-store.ts'
import type { Commit, Store } from '../../src/store/store.ts'
import { startChild } from '../store/children/child.ts'
import { isOnPostgres, openStoreOfRun } from '../store/store-of-run.ts'
import { temporaryDirectory } from '../store/temporary-stores.ts'
import { createPart, part } from './create-part.ts'

const hour = 3_600_000

async function open(store: Store, limits: Partial<EngineLimits> = {}): Promise<FederatedDatabase> {
  const fd = await FederatedDatabase.open({ alias: 'test', store, limits })
  await fd.defineClasses([part], 'createOrExtend')
  return fd
}

async function objects(fd: FederatedDatabase): Promise<number> {
  return (await fd.verify()).objects
}

async function receiptsIn(store: Store): Promise<number> {
  const snapshot = await store.snapshot()
  let count = 0
  for await (const batch of snapshot.scan(receiptRange, () => 1)) count += batch.length
  snapshot.release()
  return count
}

function signal(): { readonly given: Promise<void>; give(): void } {
  let give = (): void => undefined
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give }
}

/** Commits that write to the space wait until they are released. */
function holdingBack(store: Store, space: number): { store: Store; isHeld: Promise<void>; release(): void } {
  const held = signal()
  const released = signal()
  const commit = async (given: Commit): ReturnType<Store['commit']> => {
    if ([...given.changes].some(({ key }) => key[0] === space)) {
      held.give()
      await released.given
    }
    return store.commit(given)
  }
  return { store: { ...store, commit, close: async () => undefined }, isHeld: held.given, release: released.give }
}

describe('a process that is killed', () => {
  const addresses: readonly [string, () => Promise<string>][] = [
    ['lmdb', async () => `lmdb:${await temporaryDirectory()}`],
    ['postgres', async () => `${inject('postgres')}?schema=test_${randomBytes(8).toString('hex')}`],
  ]
  for (const [kind, addressOf] of addresses) {
    if ((kind === 'postgres') !== isOnPostgres) continue
    for (const moment of ['before', 'after']) {
      it(`just ${moment} the commit leaves both the change and its receipt, or neither (${kind})`, async () => {
        const address = await addressOf()
        const made = await open(await openStore(address))
        await made.close()
        const child = startChild(new URL('./children/create-once.ts', import.meta.url), [address, moment])
        expect(await child.ended).toMatchObject({ signal: 'SIGKILL' })
        const store = await openStore(address)
        const fd = await FederatedDatabase.open({ alias: 'test', store })
        expect(await objects(fd)).toBe(moment === 'before' ? 0 : 1)
        expect(await receiptsIn(store)).toBe(moment === 'before' ? 0 : 2)
        const oid = await createPart(fd, 'key')
        expect(await createPart(fd, 'key')).toBe(oid)
        expect(await objects(fd)).toBe(1)
        await fd.close()
      })
    }
  }
})

describe('two processes with the same request at once', () => {
  it('make one change, and both reply the same', async () => {
    const store = await openStoreOfRun()
    const first = await open(store)
    const gate = holdingBack(store, keySpace.receipt)
    const slow = await FederatedDatabase.open({ alias: 'second', store: gate.store })
    const late = createPart(slow, 'key')
    await gate.isHeld
    const oid = await createPart(first, 'key')
    gate.release()
    expect(await late).toBe(oid)
    expect(await objects(first)).toBe(1)
    await slow.close()
    await first.close()
  })
})

describe('a change in several commits that is under way in one process', () => {
  const request = { caller: '', key: 'key', fingerprint: Buffer.alloc(32, 1) }
  const narrower = {
    attributesToChange: [{ attributeName: 'code', logicalType: 'integer', storage: 'b16', encoding: 'signed' }],
  }
  const byCode = { name: 'byCode', indexedClass: 'Part', isUnique: false, keyAttributes: [{ attributeName: 'code' }] }
  const works: readonly [string, (fd: FederatedDatabase) => Promise<unknown>][] = [
    [
      'an index',
      (fd) => fd.createIndex(byCode, { once: { request, replyOf: ({ name }) => Buffer.from(`created ${name}`) } }),
    ],
    [
      'a change of types',
      (fd) => fd.alterClass('Part', narrower, {}, { request, replyOf: (cls) => Buffer.from(`changed ${cls}`) }),
    ],
  ]
  for (const [name, work] of works) {
    it(`is RequestInProgress to another, which gets its reply afterwards (${name})`, async () => {
      const store = await openStoreOfRun()
      const first = await open(store)
      await first.createIndex({ ...byCode, name: 'before' })
      await createPart(first, 'part')
      // Both build entries of an index.
      const gate = holdingBack(store, keySpace.index)
      const slow = await FederatedDatabase.open({ alias: 'second', store: gate.store })
      const late = work(slow)
      await gate.isHeld
      await expect(work(first)).rejects.toMatchObject({ type: 'RequestInProgress' })
      gate.release()
      await late
      for (const fd of [first, slow]) await expect(work(fd)).rejects.toBeInstanceOf(AlreadyDone)
      await slow.close()
      expect(await objects(first)).toBe(1)
      await first.close()
    })
  }
})

describe('receipts', () => {
  it('tell another request with the same key apart', async () => {
    const fd = await open(await openStoreOfRun())
    await createPart(fd, 'key', 1)
    await expect(createPart(fd, 'key', 2)).rejects.toMatchObject({ type: 'IdempotencyKeyReused' })
    await createPart(fd, 'other', 2)
    expect(await objects(fd)).toBe(2)
    await fd.close()
  })

  it('count as long as they are there, which is until their time is over', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const store = await openStoreOfRun()
    const fd = await open(store, { receiptMs: 24 * hour })
    const start = Date.now()
    await createPart(fd, 'early')
    vi.setSystemTime(start + 12 * hour)
    for (let number = 0; number < 5; number++) await createPart(fd, `late ${number}`)
    vi.setSystemTime(start + 24 * hour - 1)
    expect(await removeEndedReceipts(store, Date.now())).toBe(0)
    vi.setSystemTime(start + 24 * hour + 120_000)
    await createPart(fd, 'early')
    expect(await objects(fd)).toBe(6)
    expect(await removeEndedReceipts(store, Date.now())).toBe(1)
    // The key is free for another request.
    await createPart(fd, 'early', 2)
    expect(await objects(fd)).toBe(7)
    expect(await receiptsIn(store)).toBe(12)
    vi.setSystemTime(start + 36 * hour + 120_000)
    expect(await removeEndedReceipts(store, Date.now())).toBe(5)
    expect(await receiptsIn(store)).toBe(2)
    await expect(createPart(fd, 'early', 1)).rejects.toMatchObject({ type: 'IdempotencyKeyReused' })
    vi.useRealTimers()
    await fd.close()
  })

  it('are removed while others do the same, however many there are', async () => {
    const store = await openStoreOfRun()
    const fd = await open(store, { receiptMs: 1 })
    const keys = Array.from({ length: 300 }, (_, number) => `key ${number}`)
    for (let at = 0; at < keys.length; at += 50)
      await Promise.all(keys.slice(at, at + 50).map((key) => createPart(fd, key)))
    const later = Date.now() + 120_000
    const removed = await Promise.all([0, 1].map(() => removeEndedReceipts(store, later)))
    expect(removed[0]! + removed[1]!).toBeGreaterThan(0)
    await removeEndedReceipts(store, later)
    expect(await receiptsIn(store)).toBe(0)
    expect((await fd.verify()).problems).toEqual([])
    await fd.close()
  })

  it('are removed in the background', async () => {
    const store = await openStoreOfRun()
    const fd = await open(store, { receiptMs: -120_000, receiptRemovalMs: 5 })
    await createPart(fd, 'key')
    await vi.waitFor(async () => expect(await receiptsIn(store)).toBe(0), 60_000)
    await fd.close()
  })

  it('go along with a copy, are counted by Statistics and missed by Verify', async () => {
    const store = await openStoreOfRun()
    const fd = await open(store)
    const oid = await createPart(fd, 'key')
    expect((await fd.detailedStatistics()).receipts.entries).toBe(2)
    const target = await openStore('memory:')
    await copyStore(store, target)
    const copy = await FederatedDatabase.open({ alias: 'copy', store: target })
    expect(await createPart(copy, 'key')).toBe(oid)
    const key = receiptKey({ caller: '', key: 'key' })
    await target.commit({ changes: [{ kind: 'delete', key }], preconditions: [] })
    expect((await copy.verify()).problems).toHaveLength(1)
    await copy.close()
    await fd.close()
  })
})
