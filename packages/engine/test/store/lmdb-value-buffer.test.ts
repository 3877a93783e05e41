/** LMDB: values are borrowed from a buffer that lmdb-js replaces by a larger one when a value is too long for it; reads by key go to it directly. */
import { join } from 'node:path'
import * as lmdb from 'lmdb'
import { expect, it, onTestFinished } from 'vitest'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import type { Snapshot } from '../../src/store/store.ts'
import { bytes, commitOf, put, text } from './bytes.ts'
import { temporaryDirectory } from './temporary-stores.ts'

it('short values are read beside ever longer ones, by key and in ranges, through snapshots of one turn and of several', async () => {
  const store = await openLmdbStore(await temporaryDirectory())
  onTestFinished(() => store.close())
  const values = new Map(Array.from({ length: 12 }, (_, n) => [`long-${n}`, `${n % 10}`.repeat(40 * 3 ** n)]))
  for (const [n, name] of [...values.keys()].entries()) values.set(name.replace('long', 'short'), `value ${n}`)
  await store.commit(commitOf([...values].map(([name, value]) => put(name, value))))
  for (let round = 0; round < 3; round++) {
    const snapshots = [await store.snapshot(), await store.snapshot()]
    for (let n = 0; n < 12; n++) {
      for (const snapshot of snapshots) {
        for (const name of [`short-${n}`, `long-${n}`, `short-${11 - n}`]) {
          expect(await snapshot.view(bytes(name), text)).toBe(values.get(name))
          expect(await snapshot.view(bytes(`${name}?`), text)).toBeUndefined()
        }
        const seen: string[] = []
        snapshot.visit?.({ from: bytes(`long-${n}`) }, n % 2 === 1, (_key, value) => seen.push(text(value)) < 3)
        for (const value of seen) expect([...values.values()]).toContain(value)
      }
    }
    for (const snapshot of snapshots) snapshot.release()
  }
})

const reads: Record<string, (snapshot: Snapshot) => unknown> = {
  'by key': (snapshot) => snapshot.view(bytes('a'), text),
  'in a range': (snapshot) => {
    let seen: string | undefined
    snapshot.visit?.({ from: bytes('a') }, false, (_key, value) => {
      seen = text(value)
      return false
    })
    return seen
  },
}

it.each(Object.entries(reads))(
  'a value that changes is read as it is (%s), where another database in the process has made lmdb-js replace the buffer meanwhile',
  async (_name, read) => {
    const store = await openLmdbStore(await temporaryDirectory())
    onTestFinished(() => store.close())
    const other = lmdb.open({ path: join(await temporaryDirectory(), 'other'), encoding: 'binary' })
    onTestFinished(() => other.close())
    const seen = async (): Promise<unknown> => {
      const snapshot = await store.snapshot()
      try {
        return await read(snapshot)
      } finally {
        snapshot.release()
      }
    }
    for (let round = 1; round <= 4; round++) {
      await store.commit(commitOf([put('a', `before ${round}`)]))
      expect(await seen()).toBe(`before ${round}`)
      await other.put('long', Buffer.alloc(100_000 * 3 ** round, round))
      expect(other.getBinaryFast('long')?.[0]).toBe(round)
      await store.commit(commitOf([put('a', `behind ${round}`)]))
      expect(await seen()).toBe(`behind ${round}`)
    }
  },
)
