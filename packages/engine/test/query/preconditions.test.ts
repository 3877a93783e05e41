/** What statements conclude from what they read is expected by their commits, but for which objects qualify. */
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { classOf, index, toMany, toOne } from '../engine/open-fd.ts'
import { isOnPostgres } from '../store/store-of-run.ts'
import { audited } from '../store/wrappers/audited.ts'

const list = {
  logicalType: 'list',
  collectionTypeName: 'TreeListOfReferences',
  elementSpecification: toOne('Car'),
}
const classes = [
  classOf('Hub', { name: 'string', cars: toMany('Car', 'hub'), tags: toMany('Tag', 'hubs') }),
  classOf('Car', {
    license: 'string',
    n: 'integer',
    hub: toOne('Hub', 'cars'),
    next: toOne('Car'),
    seq: list,
    byName: { logicalType: 'map', elementSpecification: toOne('Car') },
  }),
  classOf('Tag', { hubs: toMany('Hub', 'tags') }),
]

const statements = [
  'UPDATE Car SET n TO n + 1',
  "UPDATE Car WHERE license = 'A' SET n TO n + 1",
  "UPDATE Car WHERE license = 'B' SET seq[0] TO next",
  "UPDATE Car WHERE license = 'B' REMOVE seq[0] FROM seq",
  "UPDATE Car WHERE license = 'A' SET next.n TO 5",
  "UPDATE Car WHERE license = 'A' SET hub.name TO 'port'",
  "UPSERT Car {license: 'A', n: 7} ON (license)",
  "UPSERT Car {license: 'Z', n: 7} ON (license)",
  "DELETE Car WHERE license = 'B'",
  "UPDATE Car WHERE license = 'A' SET n TO 1; UPDATE Car SET n TO n + 1; DELETE Hub",
]

it.skipIf(isOnPostgres)('in statements that change objects', async () => {
  const store = audited(await openMemoryStore())
  const fd = await FederatedDatabase.open({ alias: 'fd', store })
  await fd.defineClasses(classes, 'create')
  await fd.createIndex(index('byLicense', 'Car', true, 'license'))
  const hub = await fd.createObject('Hub', {})
  const gone = await fd.createObject('Car', { license: 'G' })
  const one = await fd.createObject('Car', { license: 'A', hub, next: gone, byName: { a: gone } })
  await fd.createObject('Car', { license: 'B', hub, next: one, seq: [one, gone] })
  await fd.createObject('Tag', { hubs: [hub] })
  await fd.deleteObject(gone)
  for (const text of statements) {
    // Else the reply shows all objects as they have become, which takes reads of its own.
    const { chunks } = await fd.query({ text: text.startsWith('UPSERT') ? text : `${text} RETURN COUNT()` })
    for await (const chunk of chunks) void chunk
    expect([...store.uncovered], text).toEqual([])
  }
  await fd.updateObject(one, { n: 3 }, undefined, () => true)
  await fd.transaction(async (step) => {
    await step(1).updateObject(one, { byName: { action: 'add', pairs: [{ key: 'b', value: one }] }, n: 4 })
    await step(2).deleteObject(one)
  }, false)
  expect([...store.uncovered]).toEqual([])
  expect((await fd.verify()).problems).toEqual([])
  await fd.close()
})
