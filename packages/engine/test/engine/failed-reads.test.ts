/** Whatever read fails, the work that made it ends its snapshots: one that is left open keeps a connection, or lets LMDB's file grow. */
import { expect, it } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { type FailingReads, failingReads } from '../store/wrappers/failing-reads.ts'
import { classOf, index, toMany, toOne } from './open-fd.ts'

const classes = [
  classOf('Team', { name: 'string', members: toMany('Person', 'team'), friends: toMany('Team') }),
  classOf('Person', { name: 'string', age: 'integer', team: toOne('Team', 'members') }),
]

/** Some of everything that reads; what cannot be done where a read fails is left out. */
async function work(store: FailingReads): Promise<void> {
  const fd = await FederatedDatabase.open({ alias: 'test', store, onFault: () => undefined })
  try {
    const attempt = async <T>(act: () => T): Promise<Awaited<T> | undefined> => {
      try {
        return await act()
      } catch (error) {
        if (!(error instanceof AshlarError)) throw error
        return undefined
      }
    }
    const ask = async (text: string): Promise<void> => {
      const { chunks } = await fd.query({ text })
      for await (const _ of chunks);
    }
    await attempt(() => fd.defineClasses(classes, 'create'))
    await attempt(() => fd.createIndex(index('byName', 'Person', true, 'name')))
    const team = await attempt(() => fd.createObject('Team', { name: 'a' }))
    const person = await attempt(() => fd.createObject('Person', { name: 'x', age: 1, ...(team && { team }) }))
    if (team !== undefined) await attempt(() => fd.updateObject(team, { friends: [team] }))
    await attempt(() => fd.createIndex(index('byAge', 'Person', false, 'age'), { isBackground: true }))
    await attempt(() => ask("FROM Person WHERE name = 'x' RETURN *"))
    await attempt(() => ask('UPDATE Person SET age TO age + 1; FROM Team RETURN *'))
    await attempt(() => fd.transaction((step) => step(1).createObject('Team', { name: 'b' }), false))
    await attempt(() => fd.listIndexes())
    await attempt(() => fd.statistics())
    if (team !== undefined) await attempt(() => fd.readObject(team))
    await attempt(() => fd.deleteIndex('byName'))
    await attempt(() => fd.alterClass('Team', { attributesToDelete: ['friends'] }))
    await attempt(() =>
      fd.alterClass('Person', { attributesToChange: [{ attributeName: 'age', logicalType: 'string' }] }),
    )
    if (person !== undefined) await attempt(() => fd.deleteObject(person))
    await attempt(() => fd.upgradeObjects())
    expect((await fd.verify()).problems).toEqual([])
  } finally {
    await fd.close()
  }
}

it('no snapshot is left open, whichever read fails', async () => {
  const left: number[] = []
  for (let nth = 1, isOver = false; !isOver; nth++) {
    const inner = await openStore('memory:')
    const store = failingReads({ ...inner, close: async () => undefined })
    store.begin(nth)
    await work(store).catch((error: unknown) => {
      if (!(error instanceof AshlarError)) throw error
    })
    if (store.openSnapshots > 0) left.push(nth)
    isOver = !store.hasFailed
    await inner.close()
  }
  expect(left).toEqual([])
})
