/** Builds the referrer index of an existing attribute in the transaction that defines it. The commit requires everything read to be unchanged. */
import { catalogVersionKey } from '../bytes/key-space.ts'
import { assert } from '../errors.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import type { Container } from '../records/container-registry.ts'
import { linkKind, linkRange, targetOfKey } from '../records/link-keys.ts'
import { objectKey } from '../records/object-key.ts'
import { decodeRecord, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import { readAndRequireObjects } from '../records/require-objects.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { UnfilledReferrers } from '../schema/referrer-indexes.ts'
import type { Bytes } from '../store/store.ts'
import { inSlices } from '../store/time-slice.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { type Oid, oidBytes, oidFromBytes } from '../types/oid.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import { makeIndexKey } from './index-key.ts'
import { indexFormatsOf } from './maintain.ts'
import { referrerOfLink, referrersOfList } from './referrer-entries.ts'

/** `catalog` contains the index. `newContainers`: see `readAndRequireObjects`. Throws LimitExceeded for more than `objectsMax` objects. */
export async function fillReferrers(
  transaction: Transaction,
  catalog: Catalog,
  { cls, attribute: number }: UnfilledReferrers,
  newContainers: readonly Container[],
  objectsMax: number,
): Promise<void> {
  const formats = recordFormats(catalog)
  const subclasses = catalog.classByNumber(cls)?.subclasses ?? []
  const classes = new Set<ClassNumber>([cls, ...subclasses.map((one) => one.number)])
  const put = (oid: Oid, record: Bytes): { readonly oid: Oid; readonly attribute: AttributeFormat } | undefined => {
    const format = formats.forShape(shapeNumberOf(record))
    const attribute = format.attribute(number)
    if (attribute.linkStorage !== undefined) return { oid, attribute }
    for (const key of keysOfRecord(format, attribute, oid, record)) transaction.put(key, oidBytes(oid))
    return undefined
  }
  const parts = readAndRequireObjects(transaction, classes, newContainers, catalogVersionKey, objectsMax, put)
  for await (const part of parts) {
    await inSlices(part, (owner) => (owner === undefined ? undefined : fillLinks(transaction, owner)))
  }
}

function keysOfRecord(format: ClassFormat, attribute: AttributeFormat, oid: Oid, record: Bytes): Iterable<Buffer> {
  const { values } = decodeRecord(format, record)
  const { referrers, lists } = indexFormatsOf(format)
  const { referrers: index } = attribute.attribute
  const list = lists.find((one) => one.index === index)
  if (list !== undefined) return referrersOfList(list.index, values[attribute.index] as readonly Oid[], oid).values()
  const single = referrers.find((one) => one.index.number === index)
  assert(single !== undefined, 'an attribute whose entries are filled has an index for them')
  return [makeIndexKey(single, values, oid).key]
}

async function fillLinks(
  transaction: Transaction,
  { oid, attribute }: { readonly oid: Oid; readonly attribute: AttributeFormat },
): Promise<void> {
  const { linkStorage } = attribute
  const kind = { list: linkKind.position, set: linkKind.target, map: linkKind.name }[linkStorage ?? 'list']
  const range = linkRange(oid, attribute.attribute.number, kind)
  const entries = await transaction.readAndRequireRange(range, objectKey(oid))
  await inSlices(entries, (entry) => {
    const target = linkStorage === 'set' ? targetOfKey(entry.key) : oidFromBytes(entry.value, 0)
    // Entries of maps are updated in place.
    if (linkStorage === 'map') transaction.requireRevision(entry.key, entry.value)
    const referrer = referrerOfLink(attribute, oid, target, entry)
    if (referrer !== undefined) transaction.put(referrer.key, referrer.value)
  })
}
