/** A process that is killed while it adds a check leaves nothing of it behind. */
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { classOf, outcome } from '../engine/open-fd.ts'
import { startChild } from '../store/children/child.ts'
import { freshAddress } from '../store/postgres-stores.ts'
import { isOnPostgres } from '../store/store-of-run.ts'
import { temporaryDirectory } from '../store/temporary-stores.ts'

const addCheck = new URL('./children/add-check.ts', import.meta.url)

it('the next process drops the check, and another may add it', async () => {
  const address = isOnPostgres ? freshAddress() : `lmdb:${await temporaryDirectory()}`
  const first = await FederatedDatabase.open({ alias: 'test', store: await openStore(address) })
  await first.defineClasses([classOf('Item', { n: 'integer' })], 'create')
  await first.createObject('Item', { n: 1 })
  await first.close()
  expect(await startChild(addCheck, [address]).ended).toMatchObject({ signal: 'SIGKILL' })
  const fd = await FederatedDatabase.open({ alias: 'test', store: await openStore(address) })
  const large = await fd.createObject('Item', { n: 10 })
  expect(await fd.readClass('Item')).not.toHaveProperty('checks')
  const checks = [{ name: 'small', expression: 'n < 10' }]
  const add = () => outcome(fd.alterClass('Item', { classFields: { checks } }))
  expect(await add()).toBe('ObjectsViolateConstraint')
  await fd.deleteObject(large)
  expect(await add()).toBe('ok')
  expect((await fd.verify()).problems).toEqual([])
  await fd.close()
})
