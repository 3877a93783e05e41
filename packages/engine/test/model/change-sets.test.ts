/** What a federated database tells of its commits: replayed, it leads to the same objects. */

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import type { ChangeSet } from '../../src/write/change-set.ts'
import { runs } from '../bytes/property-runs.ts'
import { classOf, index, toMany, toOne } from '../engine/open-fd.ts'
import { rowValues } from '../row-texts.ts'
import { isOnPostgres } from '../store/store-of-run.ts'
import { Driver, expectSameObjects, inSequence, outcomeOf, sequences, withModelFd } from './model-run.ts'
import { operation } from './operations.ts'
import { Replica } from './replica.ts'
import { eachCommitFailsOnce } from './spurious-conflicts.ts'

async function follows(store: Store, use: (fd: FederatedDatabase) => Promise<void>): Promise<void> {
  const replica = new Replica()
  await withModelFd(
    store,
    async (fd) => {
      await use(fd)
      await expectSameObjects(fd, replica.model)
      expect(await rowValues(await fd.query({ text: 'FROM ooObj RETURN COUNT()' }))).toEqual([
        { 'COUNT()': replica.model.objects.size },
      ])
    },
    (changes) => replica.apply(changes),
  )
}

// Change sets are made above the store.
it.skipIf(isOnPostgres)('change sets, replayed onto the reference model, end at the same state', async () => {
  const property = fc.asyncProperty(sequences, async (operations) => {
    await follows(await openMemoryStore(), (fd) => inSequence(fd, operations))
  })
  await fc.assert(property, runs(25))
})

it.skipIf(isOnPostgres)('so they do where every commit fails once before it holds', async () => {
  const property = fc.asyncProperty(sequences, async (operations) => {
    await follows(eachCommitFailsOnce(await openMemoryStore()), (fd) => inSequence(fd, operations))
  })
  await fc.assert(property, runs(10))
})

it.skipIf(isOnPostgres)('so they do where operations are carried out at once', async () => {
  const batches = fc.array(fc.array(operation, { minLength: 2, maxLength: 12, size: 'max' }), {
    minLength: 2,
    maxLength: 5,
  })
  const property = fc.asyncProperty(batches, async (given) => {
    // In the order of the commits, which an embedded store acknowledges in it.
    await follows(await openMemoryStore(), async (fd) => {
      const driver = new Driver(fd)
      for (const batch of given) {
        const created: string[] = []
        const act = async (one: (typeof batch)[number]): Promise<void> => {
          const oid = await driver.act(one)
          if (oid !== undefined) created.push(oid)
        }
        await Promise.all(batch.map((one) => outcomeOf(() => act(one))))
        driver.oids.push(...created)
      }
    })
  })
  await fc.assert(property, runs(25))
})

const classes = [
  classOf('Hub', { title: 'string', spokes: toMany('Spoke', 'hub') }),
  classOf('Spoke', { n: 'integer', hub: toOne('Hub', 'spokes') }),
]

async function told(use: (fd: FederatedDatabase, changes: ChangeSet[]) => Promise<void>): Promise<void> {
  const changes: ChangeSet[] = []
  const faults: unknown[] = []
  let calls = 0
  const fd = await FederatedDatabase.open({
    alias: 'test',
    store: await openMemoryStore(),
    onFault: (error) => faults.push(error),
    onChanges(set) {
      calls++
      changes.push(set)
      throw new Error('the listener fails')
    },
  })
  await fd.defineClasses(classes, 'create')
  await use(fd, changes)
  // What the listener throws is told, and no commit fails for it.
  expect(faults).toHaveLength(calls)
  await fd.close()
}

it('each commit is told once: a request, a batch, a statement, a change of the schema; what is not committed, never', () =>
  told(async (fd, changes) => {
    expect(changes.splice(0).map(({ schema }) => schema?.after.classes.length)).toEqual([2])
    const hub = await fd.createObject('Hub', { title: 'a' })
    const spoke = await fd.createObject('Spoke', { hub })
    const [created, linked] = changes.splice(0)
    expect(created?.objects).toMatchObject([{ kind: 'created', oid: hub }])
    expect(linked?.objects).toMatchObject([{ kind: 'created', oid: spoke }])
    // The hub is not changed; its list is.
    expect(linked?.links).toMatchObject([{ kind: 'added', owner: hub, target: spoke }])
    await fd.updateObject(hub, { title: 'a' })
    await fd.updateObject(spoke, { n: 3, hub: '0-0-0-0' })
    const [same, changed] = changes.splice(0)
    expect(same?.objects).toMatchObject([{ kind: 'changed', oid: hub, attributes: [] }])
    const [update] = changed?.objects ?? []
    const attributes = update?.kind === 'changed' ? update.attributes : []
    expect(attributes).toMatchObject([
      { attribute: { attribute: { name: 'n' } }, before: 0, after: 3 },
      { attribute: { attribute: { name: 'hub' } }, before: hub, after: '0-0-0-0' },
    ])
    expect(changed?.links).toMatchObject([{ kind: 'removed', owner: hub, target: spoke }])
    await fd.transaction(async (step) => {
      await step(1).updateObject(hub, { title: 'b' })
      await step(2).createIndex(index('byTitle', 'Hub', true, 'title'))
      await step(3).deleteObject(spoke)
    }, true)
    const [batch, ...others] = changes.splice(0)
    expect(others).toEqual([])
    expect(batch?.objects.map(({ kind }) => kind)).toEqual(['changed', 'deleted'])
    expect(batch?.schema?.after.indexes.map(({ name }) => name)).toEqual(['byTitle'])
    await fd.query({ text: 'CREATE Spoke {n: 1}; UPDATE Spoke SET n TO n + 1' })
    expect(changes.splice(0).map(({ objects }) => objects.map(({ kind }) => kind))).toEqual([['created', 'changed']])
    await outcomeOf(() => fd.createObject('Hub', { title: 'b' }))
    await outcomeOf(() => fd.updateObject(hub, { spokes: ['3-3-1-99'] }))
    await outcomeOf(async () => fd.query({ text: 'UPDATE Hub SET title TO 1 WHERE FALSE' }))
    expect(changes).toEqual([])
  }))
