/** Reads of requests that have arrived together share a snapshot, and none is shown less than it has to be. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { noteRest, readAnew, sharedIteration, shareReads } from '../../src/store/reads-of-turn.ts'
import type { Snapshot, Store } from '../../src/store/store.ts'
import { bytes, commitOf, put } from './bytes.ts'
import { temporaryLmdb } from './temporary-stores.ts'

afterEach(() => nextTurn())

describe('requests of one turn', () => {
  it('share where each is the first of its connection', () => {
    expect(sharedIteration()).toBeUndefined()
    shareReads({}, 2)
    const first = sharedIteration()
    expect(first).toBeDefined()
    shareReads({}, 2)
    expect(sharedIteration()).toBe(first)
  })

  it('share nothing in the next turn', async () => {
    shareReads({}, 1)
    const first = sharedIteration()
    await nextTurn()
    expect(sharedIteration()).toBeUndefined()
    shareReads({}, 1)
    expect(sharedIteration()).toBeDefined()
    expect(sharedIteration()).not.toBe(first)
  })

  it('begin anew with one that follows another on its connection, since it may have been sent in the same turn', () => {
    const connection = {}
    shareReads(connection, 2)
    const first = sharedIteration()
    shareReads(connection, 2)
    expect(sharedIteration()).toBeUndefined()
    shareReads({}, 2)
    expect(sharedIteration()).toBeDefined()
    expect(sharedIteration()).not.toBe(first)
  })

  it('begin anew with one that follows the rest of another, which began in an earlier turn', () => {
    const connection = {}
    noteRest(connection)
    shareReads(connection, 1)
    expect(sharedIteration()).toBeUndefined()
  })

  it('share nothing where there are more connections than are read in one go', () => {
    shareReads({}, 1_000)
    expect(sharedIteration()).toBeDefined()
    shareReads({}, 1_001)
    expect(sharedIteration()).toBeUndefined()
  })
})

describe('lmdb: snapshots that may share', () => {
  it('show the same within a turn where requests allow it, and only those', async () => {
    const store = await temporaryLmdb.open()
    expect(read(store).sharedRead).toBeUndefined()
    shareReads({}, 1)
    const [one, two] = [read(store), read(store)]
    expect(one.sharedRead).toBeDefined()
    expect(two.sharedRead).toBe(one.sharedRead)
    const own = store.snapshot() as Snapshot
    expect(own.sharedRead).toBeUndefined()
    own.release()
    expect(read(store).sharedRead).not.toBe(one.sharedRead)
    await nextTurn()
    expect(read(store).sharedRead).toBeUndefined()
    await store.close()
  })

  it('show what they showed at first, whatever is committed meanwhile, and whoever else ends', async () => {
    const store = await temporaryLmdb.open()
    await store.commit(commitOf([put('a', '1')]))
    shareReads({}, 1)
    const [one, two] = [hold(store), hold(store)]
    await store.commit(commitOf([put('a', '2')]))
    one.release()
    await nextTurn()
    expect(textOf(two)).toBe('1')
    expect(textOf(hold(store))).toBe('2')
    await store.close()
  })

  it('begin anew as soon as a commit of the process is told of', async () => {
    const store = await temporaryLmdb.open()
    const stop = shareInEachTurn(() => read(store))
    const seen: unknown[] = []
    for (let value = 0; value < 20; value++) {
      await store.commit(commitOf([put('a', String(value))])).then(() => {
        seen.push(sharedIteration())
        expect(textOf(hold(store))).toBe(String(value))
      })
    }
    stop()
    expect(seen).toEqual(new Array(20).fill(undefined))
    await store.close()
  })

  it('keep no store from closing in the turn in which they were made', async () => {
    const store = await temporaryLmdb.open()
    shareReads({}, 1)
    read(store)
    await store.close()
    await nextTurn()
    const again = await temporaryLmdb.open()
    await again.close()
  })

  it('are told apart from those before something was committed', () => {
    shareReads({}, 1)
    readAnew()
    expect(sharedIteration()).toBeUndefined()
  })
})

function hold(store: Store): Snapshot {
  return store.snapshot({ isolation: 'readOnly', mayShare: true }) as Snapshot
}

/** One that has ended: what it shared is told before. */
function read(store: Store): Pick<Snapshot, 'sharedRead'> {
  const snapshot = hold(store)
  const { sharedRead } = snapshot
  snapshot.release()
  return { sharedRead }
}

function textOf(snapshot: Snapshot): unknown {
  return snapshot.view(bytes('a'), (value) => Buffer.from(value).toString())
}

/** From the end of each turn on, so that commits are told of while reads are shared. */
function shareInEachTurn(use: () => void): () => void {
  let isOver = false
  const share = (): void => {
    if (isOver) return
    shareReads({}, 1)
    use()
    setImmediate(share)
  }
  share()
  return () => {
    isOver = true
  }
}
