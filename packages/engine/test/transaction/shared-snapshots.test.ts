/** Changes of one object that requests of one turn ask for share a snapshot, and none is lost or shown less than it has to be. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { shareReads } from '../../src/store/reads-of-turn.ts'
import type { Snapshot, Store } from '../../src/store/store.ts'
import { transact } from '../../src/transaction/transact.ts'
import { bytes, commitOf, put, text } from '../store/bytes.ts'
import { temporaryLmdb } from '../store/temporary-stores.ts'

afterEach(() => nextTurn())

const key = bytes('number')

/** Adds one; `seen` is told what each attempt shares, and the number that it found. */
function add(store: Store, seen: [shared: object | undefined, found: string][]): Promise<void> {
  return transact(
    store,
    10,
    async (transaction) => {
      const { sharedRead } = transaction.snapshot
      const [value] = await transaction.readAndRequire([key])
      seen.push([sharedRead, text(value ?? bytes(''))])
      transaction.put(key, bytes(String(Number(value) + 1)))
    },
    { mayShare: true },
  )
}

async function numberIn(store: Store): Promise<string> {
  const snapshot = (await store.snapshot()) as Snapshot
  const { values } = await snapshot.read([key])
  snapshot.release()
  return text(values[0] ?? bytes(''))
}

it('first attempts share, and those that come too late begin anew', async () => {
  const store = await temporaryLmdb.open()
  await store.commit(commitOf([put('number', '0')]))
  shareReads({}, 3)
  const seen: [object | undefined, string][] = []
  await Promise.all([add(store, seen), add(store, seen), add(store, seen)])
  const [first, second, third, ...later] = seen
  expect(first?.[0]).toBeDefined()
  expect([second, third]).toEqual([first, first])
  expect(later.length).toBeGreaterThanOrEqual(2)
  expect(later.every(([shared]) => shared === undefined)).toBe(true)
  expect(await numberIn(store)).toBe('3')
  await store.close()
})

it('whoever was told of a commit is shown it, also within the same turn', async () => {
  const store = await temporaryLmdb.open()
  await store.commit(commitOf([put('number', '0')]))
  for (let count = 0; count < 20; count++) {
    shareReads({}, 2)
    const seen: [object | undefined, string][] = []
    await add(store, seen).then(() => add(store, seen))
    expect(seen.map(([, found]) => found)).toEqual([String(2 * count), String(2 * count + 1)])
    await nextTurn()
  }
  await store.close()
})
