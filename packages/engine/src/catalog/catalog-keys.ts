/** Keys of the catalog. Part of the storage format. */
import { catalogPart } from '../bytes/key-layout.ts'
import { keySpace, prefixEnd } from '../bytes/key-space.ts'
import type { Bytes } from '../store/store.ts'

export const countersKey = Buffer.from([keySpace.catalog, catalogPart.counters])

/**
 * The parts with many keys. `droppedIndexes`: by number of a dropped index. `droppedLinkAttributes`: by number of a deleted attribute that was
 * kept as links. `progress`: how far the background build of an index has come. `validation`: how far the change of a class in the background has
 * come.
 */
export type CatalogPart = Exclude<keyof typeof catalogPart, 'version' | 'counters'>

export function catalogKey(part: CatalogPart, number: number): Buffer {
  const key = Buffer.allocUnsafe(6)
  key[0] = keySpace.catalog
  key[1] = catalogPart[part]
  key.writeUInt32BE(number, 2)
  return key
}

export function numberOfCatalogKey(key: Bytes): number {
  return Buffer.from(key.buffer, key.byteOffset, key.length).readUInt32BE(2)
}

export function catalogPartRange(part: CatalogPart): { from: Buffer; to: Buffer } {
  const from = Buffer.from([keySpace.catalog, catalogPart[part]])
  return { from, to: prefixEnd(from) }
}
