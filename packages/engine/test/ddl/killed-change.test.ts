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

it.each(['foreground', 'background'])('the next process drops the check, and another may add it: %s', async (where) => {
  const address = isOnPostgres ? freshAddress() : `lmdb:${await temporaryDirectory()}`
  const first = await FederatedDatabase.open({ alias: 'test', store: await openStore(address) })
  await first.defineClasses([classOf('Item', { n: 'integer' })], 'create')
  await first.createObject('Item', { n: 1 })
  await first.close()
  expect(await startChild(addCheck, [address, where]).ended).toMatchObject({ signal: 'SIGKILL' })
  const fd = await FederatedDatabase.open({ alias: 'test', store: await openStore(address) })
  const large = await fd.createObject('Item', { n: 10 })
  const cls = await fd.readClass('Item')
  expect(cls).not.toHaveProperty('checks')
  if (where === 'foreground') expect(cls).not.toHaveProperty('validation')
  else expect(cls.validation).toMatchObject({ state: 'failed', failure: { type: 'ShuttingDown' } })
  const checks = [{ name: 'small', expression: 'n < 10' }]
  const add = () => outcome(fd.alterClass('Item', { classFields: { checks } }))
  expect(await add()).toBe('ObjectsViolateConstraint')
  await fd.deleteObject(large)
  expect(await add()).toBe('ok')
  expect(await fd.readClass('Item')).not.toHaveProperty('validation')
  expect((await fd.verify()).problems).toEqual([])
  await fd.close()
})
