/** Keys of the catalog. Part of the storage format. */
import { catalogPart } from '../bytes/key-layout.ts'
import { keySpace, prefixEnd } from '../bytes/key-space.ts'
import type { Bytes } from '../store/store.ts'

export const countersKey = Buffer.from([keySpace.catalog, catalogPart.counters])

/** `droppedIndexes`: by index number; `droppedLinkAttributes`: by number of a deleted attribute stored as links; `progress`: by index. */
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
