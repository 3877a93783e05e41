/** The change log, replayed onto the reference model, leads to the objects that the database holds. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { Store } from '../../src/store/store.ts'
import { runs } from '../bytes/property-runs.ts'
import { Driver, expectSameObjects, inSequence, outcomeOf, sequences, withModelFd } from '../model/model-run.ts'
import { operation } from '../model/operations.ts'
import { Replica } from '../model/replica.ts'
import { eachCommitFailsOnce } from '../model/spurious-conflicts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { loggedSets } from './logged-sets.ts'

async function follows(store: Store, use: (fd: FederatedDatabase) => Promise<void>): Promise<void> {
  await withModelFd(
    store,
    async (fd) => {
      await use(fd)
      const replica = new Replica()
      for (const set of await loggedSets(store)) replica.apply(set)
      await expectSameObjects(fd, replica.model)
    },
    'on',
  )
}

it('after any sequence of operations', async () => {
  const property = fc.asyncProperty(sequences, async (operations) => {
    await follows(await openStoreOfRun(), (fd) => inSequence(fd, operations))
  })
  await fc.assert(property, runs(20))
})

it('where every commit fails once before it holds', async () => {
  const property = fc.asyncProperty(sequences, async (operations) => {
    await follows(eachCommitFailsOnce(await openStoreOfRun()), (fd) => inSequence(fd, operations))
  })
  await fc.assert(property, runs(8))
})

it('where operations are carried out at once', async () => {
  const batches = fc.array(fc.array(operation, { minLength: 2, maxLength: 12, size: 'max' }), {
    minLength: 2,
    maxLength: 5,
  })
  const property = fc.asyncProperty(batches, async (given) => {
    await follows(await openStoreOfRun(), async (fd) => {
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
  await fc.assert(property, runs(20))
})

it('is off unless it is turned on, and of another epoch each time', async () => {
  const store = await openStoreOfRun()
  const open = (changeLog?: 'on' | 'off' | 'auto') =>
    FederatedDatabase.open({
      alias: 'test',
      store: { ...store, close: async () => undefined },
      ...(changeLog && { changeLog }),
    })
  const define = async (fd: FederatedDatabase, className: string) => {
    await fd.defineClasses([{ className, isReferenceable: true, attributes: [] }], 'create')
    await fd.close()
  }
  await define(await open(), 'A')
  expect(await loggedSets(store)).toEqual([])
  await define(await open('auto'), 'B')
  const [first] = await loggedSets(store)
  expect(first?.classes).toEqual(['B'])
  // As it is in the store.
  await define(await open(), 'C')
  expect((await loggedSets(store)).map(({ classes }) => classes)).toEqual([['B'], ['C']])
  await define(await open('off'), 'D')
  await define(await open('on'), 'E')
  const [second, ...others] = await loggedSets(store)
  expect(second?.classes).toEqual(['E'])
  expect(others).toEqual([])
  expect(second?.position.epoch).toBeGreaterThan(first?.position.epoch ?? Number.POSITIVE_INFINITY)
  await store.close()
})

it('is refused where the store cannot number commits, and turned off there if it is asked for', async () => {
  const store = await openStoreOfRun()
  const open = (changeLog: 'on' | 'off' | 'auto', canAppend: boolean) => {
    const capabilities = { ...store.capabilities, canAppend }
    const unclosed = { ...store, capabilities, close: async () => undefined }
    return FederatedDatabase.open({ alias: 'test', store: unclosed, changeLog })
  }
  await expect(open('on', false)).rejects.toThrow('Turn it off with changeLog=off')
  await (await open('auto', false)).close()
  await (await open('auto', true)).close()
  // A copy of a store that had one.
  await expect(open('auto', false)).rejects.toThrow('cannot have a change log')
  const fd = await open('off', false)
  await fd.defineClasses([{ className: 'A', isReferenceable: true, attributes: [] }], 'create')
  await fd.close()
  expect(await loggedSets(store)).toEqual([])
  await store.close()
})
