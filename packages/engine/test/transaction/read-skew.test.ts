/** Reads that contradict each other: damage where snapshots are consistent, perhaps read skew where they are not. Failed assertions: always a fault of ours. */
import { describe, expect, it } from 'vitest'
import { AssertionFailed, assert, unreachable } from '../../src/errors.ts'
import { readSkewRetriesMax } from '../../src/limits.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { ReadSkew } from '../../src/store/read-skew.ts'
import { SnapshotInvalidated } from '../../src/store/snapshot-invalidated.ts'
import type { Snapshot, SnapshotOptions, Store } from '../../src/store/store.ts'
import { lateReadError, withLastingSnapshot, withSnapshot } from '../../src/store/with-snapshot.ts'
import { transact } from '../../src/transaction/transact.ts'

interface AskedStore {
  readonly store: Store
  /** Which snapshots it was asked for. */
  readonly asked: (SnapshotOptions | undefined)[]
  /** How many of them are open. */
  open(): number
}

async function openStore(hasConsistentSnapshots: boolean): Promise<AskedStore> {
  const memory = await openMemoryStore()
  const asked: (SnapshotOptions | undefined)[] = []
  let open = 0
  const store: Store = {
    ...memory,
    capabilities: { ...memory.capabilities, hasConsistentSnapshots },
    async snapshot(options) {
      asked.push(options)
      open++
      const snapshot = await memory.snapshot(options)
      let isReleased = false
      return {
        view: (key, use) => snapshot.view(key, use),
        read: (keys, ranges) => snapshot.read(keys, ranges),
        scan: (range, use, more) => snapshot.scan(range, use, more),
        release() {
          if (!isReleased) open--
          isReleased = true
          snapshot.release()
        },
      }
    },
  }
  return { store, asked, open: () => open }
}

const oneIsTwo = 'one is two'
const damage = { type: 'DataCorruption', message: expect.stringContaining(oneIsTwo) }

function contradict(): never {
  throw new ReadSkew(oneIsTwo)
}

describe('a failed assertion', () => {
  it.each([true, false])('is never tried again (snapshots are consistent: %s)', async (isWhole) => {
    const { store, asked } = await openStore(isWhole)
    await expect(transact(store, 50, async () => assert(false, oneIsTwo))).rejects.toThrow(AssertionFailed)
    await expect(transact(store, 50, () => unreachable(oneIsTwo))).rejects.toThrow('assertion failed: one is two')
    const read = withSnapshot(store, async () => unreachable(oneIsTwo), { isolation: 'readOnly' })
    await expect(read).rejects.toThrow(AssertionFailed)
    expect(asked).toEqual([undefined, undefined, { isolation: 'readOnly' }])
  })
})

describe('a change whose reads contradict each other', () => {
  it('is not tried again where snapshots are consistent: the data is damaged', async () => {
    const { store, asked } = await openStore(true)
    await expect(transact(store, 50, contradict)).rejects.toMatchObject(damage)
    expect(asked).toHaveLength(1)
  })

  it('is tried a few times more where they are not, each time after commits under way, and then the data is damaged', async () => {
    const { store, asked, open } = await openStore(false)
    await expect(transact(store, 50, contradict)).rejects.toMatchObject(damage)
    const retries = Array.from({ length: readSkewRetriesMax }, () => [{ isolation: 'consistent' }, undefined])
    expect(asked).toEqual([undefined, ...retries.flat()])
    expect(open()).toBe(0)
  })

  it('holds no snapshot while it waits for one that shows all commits', async () => {
    const { store, open } = await openStore(false)
    const opened: number[] = []
    const counting: Store = {
      ...store,
      snapshot(options) {
        if (options?.isolation === 'consistent') opened.push(open())
        return store.snapshot(options)
      },
    }
    await expect(transact(counting, 50, contradict)).rejects.toMatchObject(damage)
    expect(opened).toEqual(Array.from({ length: readSkewRetriesMax }, () => 0))
  })

  it('is made, without a word, once they do so no more', async () => {
    const { store } = await openStore(false)
    let left = readSkewRetriesMax
    const key = Buffer.from('a')
    await transact(store, 50, async (transaction) => {
      if (left-- > 0) contradict()
      transaction.put(key, key)
    })
    expect((await store.stats()).entries).toBe(1)
  })
})

describe('a read whose reads contradict each other', () => {
  it('is run once more, on a whole snapshot, where snapshots are not; then the data is damaged', async () => {
    for (const isWhole of [true, false]) {
      for (const options of [{ isolation: 'readOnly' }, undefined] as const) {
        const { store, asked, open } = await openStore(isWhole)
        const read = withSnapshot(store, async () => contradict(), options)
        await expect(read).rejects.toMatchObject(damage)
        expect(asked).toEqual(isWhole ? [options] : [options, { isolation: 'consistent' }])
        expect(open()).toBe(0)
      }
    }
  })

  it('begins anew without its first keys where these have changed', async () => {
    const { store, asked } = await openStore(true)
    const prefetchKeys = [Buffer.from('a')]
    const read = async (): Promise<number> => {
      if (asked.length === 1) throw new SnapshotInvalidated()
      return asked.length
    }
    expect(await withSnapshot(store, read, { isolation: 'readOnly', prefetchKeys })).toBe(2)
    expect(asked).toEqual([{ isolation: 'readOnly', prefetchKeys }, { isolation: 'readOnly' }])
  })
})

describe('a reply that contradicts itself', () => {
  const lateOf = async (store: Store): Promise<(error: unknown) => unknown> => {
    const read = { begin: async (_snapshot: Snapshot, options: SnapshotOptions) => options }
    const options = await withLastingSnapshot(store, read, { isolation: 'readOnly' })
    return (error) => lateReadError(store, options, error)
  }

  it('before its beginning is read once more, and its snapshot stays open', async () => {
    const { store, asked, open } = await openStore(false)
    const read = { begin: async () => asked.length === 1 && contradict() }
    await withLastingSnapshot(store, read, { isolation: 'readOnly' })
    expect(asked).toEqual([{ isolation: 'readOnly' }, { isolation: 'consistent' }])
    expect(open()).toBe(1)
  })

  it('after its beginning ends with an error that tells of damage only where there is some', async () => {
    const [error, other] = [new ReadSkew(oneIsTwo), new Error('other')]
    const skewed = await lateOf((await openStore(false)).store)
    expect(skewed(error)).toMatchObject({ type: 'StoreUnavailable', message: expect.stringContaining(oneIsTwo) })
    expect(skewed(other)).toBe(other)
    expect((await lateOf((await openStore(true)).store))(error)).toBe(error)
  })
})
