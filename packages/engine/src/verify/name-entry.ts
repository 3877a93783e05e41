/** Describes an entry of the store for people: an object and its class, a link, an index entry, or a part of the catalog. */
import { keyLayout } from '../bytes/key-layout.ts'
import { keySpace } from '../bytes/key-space.ts'
import { indexKeyHeaderBytes } from '../indexes/index-key.ts'
import { attributeOfKey, linkHeaderBytes, ownerOfKey } from '../records/link-keys.ts'
import { containerKey, oidOfObjectKey } from '../records/object-key.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { IndexNumber } from '../schema/class-definition.ts'
import type { Bytes, Store } from '../store/store.ts'
import { type Oid, oidLength } from '../types/oid.ts'
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'

/** `catalog`: the latest known. Unknown names are replaced by numbers. */
export function nameEntry(store: Store | undefined, catalog: Catalog | undefined, key: Bytes): string {
  const bytes = Buffer.from(key)
  const [space] = bytes
  const classSuffix = (oid: Oid): string => classOf(store, catalog, oid)
  if (space === keySpace.object && bytes.length === 1 + oidLength) {
    const oid = oidOfObjectKey(bytes)
    return `Object ${oid}${classSuffix(oid)}`
  }
  if (space === keySpace.link && bytes.length >= linkHeaderBytes) {
    const owner = ownerOfKey(bytes)
    return `A link of object ${owner}${classSuffix(owner)} in attribute ${attributeName(catalog, attributeOfKey(bytes))}`
  }
  if (space === keySpace.index && bytes.length >= indexKeyHeaderBytes) {
    const number = bytes.readUInt32BE(1) as IndexNumber
    return `An entry of index ${catalog?.indexByNumber(number)?.name ?? `number ${number}`}`
  }
  const part = keyLayout.find(({ prefix }) => prefix.every((byte, at) => bytes[at] === byte))
  if (part === undefined || space === keySpace.object || space === keySpace.link || space === keySpace.index)
    return `An entry with a key of no known form (${bytes.toString('hex')})`
  return `The ${space === keySpace.catalog ? 'catalog ' : ''}entry for ${part.holds} (key ${bytes.toString('hex')})`
}

function attributeName(catalog: Catalog | undefined, number: number): string {
  return catalog?.attribute(number as AttributeNumber)?.name ?? `number ${number}`
}

/** The class of the object's container, whose row is read if the store reads synchronously. */
function classOf(store: Store | undefined, catalog: Catalog | undefined, oid: Oid): string {
  if (catalog === undefined || store?.capabilities.hasSynchronousReads !== true) return ''
  const [database = 0, container = 0] = oid.split('-').map(Number)
  try {
    const snapshot = store.snapshot()
    if (snapshot instanceof Promise) return ''
    try {
      const number = snapshot.view(containerKey(database, container), (row) => Buffer.from(row).readUInt32BE(0))
      const cls = number === undefined ? undefined : catalog.classByNumber(number as ClassNumber)
      return cls === undefined ? '' : ` of class ${cls.name}`
    } finally {
      snapshot.release()
    }
  } catch {
    // The row is damaged as well, or the store is closing: only the OID is shown.
    return ''
  }
}
