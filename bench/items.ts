/** Objects for measurements. */
import { mkdirSync } from 'node:fs'
import { FederatedDatabase, openStore } from '@ashlar/engine'

const createdAtOnce = 2_000

/** Into an empty store: the class Item with a unique key, and that many objects. */
export async function fillItems(directory: string, objects: number): Promise<void> {
  mkdirSync(directory, { recursive: true })
  const fd = await FederatedDatabase.open({ alias: 'default', store: await openStore(`lmdb:${directory}`) })
  const attributes = [
    { attributeName: 'number', logicalType: 'integer' },
    { attributeName: 'name', logicalType: 'string' },
    { attributeName: 'size', logicalType: 'real' },
    { attributeName: 'day', logicalType: 'date' },
  ]
  await fd.defineClasses([{ className: 'Item', isReferenceable: true, attributes }], 'create')
  const keyAttributes = [{ attributeName: 'number' }]
  await fd.createIndex({ name: 'itemByNumber', indexedClass: 'Item', isUnique: true, keyAttributes })
  for (let at = 0; at < objects; at += createdAtOnce) {
    const count = Math.min(createdAtOnce, objects - at)
    await fd.createObjects(Array.from({ length: count }, (_, i) => ({ class: 'Item', attributes: item(at + i) })))
  }
  await fd.close()
}

function item(number: number): Record<string, unknown> {
  return { number, name: `item ${number}`, size: number / 7, day: `2024-0${1 + (number % 9)}-1${number % 10}` }
}
