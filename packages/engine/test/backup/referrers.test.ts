/** The entries that tell who refers are not in the change log: a restore derives them from records and links. */
import { expect, it } from 'vitest'
import { restoreBackup } from '../../src/backup/restore-backup.ts'
import { keySpace } from '../../src/bytes/key-space.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { classOf } from '../engine/open-fd.ts'
import { entriesIn } from '../store/bytes.ts'
import { temporaryDirectory, temporaryLmdb } from '../store/temporary-stores.ts'

const one = { logicalType: 'reference', referencedClass: 'Target', onTargetDelete: 'clear' }
const list = { logicalType: 'list', elementSpecification: one }
const classes = [
  classOf('Target', {}),
  classOf('Source', {
    one,
    list,
    tree: { ...list, collectionTypeName: 'TreeListOfReferences' },
    set: { logicalType: 'set', elementSpecification: one },
    map: { logicalType: 'map', keySpecification: { logicalType: 'string' }, elementSpecification: one },
  }),
]

async function indexEntries(store: Store): Promise<string[]> {
  return (await entriesIn(store)).filter((entry) => entry.charCodeAt(0) === keySpace.index)
}

it('full and incremental', async () => {
  const [store, directory, target] = [await openMemoryStore(), await temporaryDirectory(), await temporaryLmdb.open()]
  const fd = await FederatedDatabase.open({ alias: 'test', store, changeLog: 'on' })
  await fd.defineClasses(classes, 'create')
  const [a, b] = [await fd.createObject('Target', {}), await fd.createObject('Target', {})]
  const source = await fd.createObject('Source', {
    one: a,
    list: [a, b, a],
    tree: [b, a, b],
    set: [a],
    map: { x: a, y: b },
  })
  await fd.backUp(directory)
  await fd.createObject('Source', { one: b, list: [b], tree: [b, b], set: [a, b], map: { z: b } })
  await fd.updateObject(source, { tree: [a], map: { x: b } })
  await fd.backUp(directory, { isIncremental: true })
  await restoreBackup(directory, target)
  expect(await indexEntries(target)).toEqual(await indexEntries(store))
  expect((await indexEntries(store)).length).toBe(13)
  const restored = await FederatedDatabase.open({ alias: 'test', store: target })
  expect((await restored.verify()).problems).toEqual([])
  await restored.close()
  await fd.close()
})
