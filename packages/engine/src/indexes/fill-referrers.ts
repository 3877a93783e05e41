/** Creates the referrer entries of an existing attribute: in the transaction that defines its index, or online in batches. */
import { catalogVersionKey } from '../bytes/key-space.ts'
import { assert } from '../errors.ts'
import { indexBuildBatchBytes, scanBatchBytes } from '../limits.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import type { Container } from '../records/container-registry.ts'
import {
  attributeOfKey,
  containerLinksRange,
  kindOfForm,
  kindOfKey,
  linkRange,
  ownerOfKey,
  targetOfKey,
} from '../records/link-keys.ts'
import { objectKey, oidOfObjectKey } from '../records/object-key.ts'
import { recordHeaderBytes, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import { readAndRequireObjects } from '../records/require-objects.ts'
import { presentRanges } from '../records/scan-objects.ts'
import type { Catalog } from '../schema/catalog.ts'
import { maintainedReferrers, type UnfilledReferrers } from '../schema/referrer-indexes.ts'
import type { Bytes, Entry } from '../store/store.ts'
import { inSlices } from '../store/time-slice.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { LinkStorage } from '../types/link-storage.ts'
import { type Oid, oidBytes, oidFromBytes } from '../types/oid.ts'
import {
  type BuildContext,
  buildEntries,
  coveredClasses,
  type IndexSource,
  indexGone,
  rowOfObject,
  type SourceEntry,
} from './build.ts'
import { makeIndexKeyOfRecord } from './index-key.ts'
import { indexFormatsOf } from './maintain.ts'
import { keysOfList, referrerOfLink } from './referrer-entries.ts'

/** `catalog` contains the index. `newContainers`: see `readAndRequireObjects`. Throws LimitExceeded for more than `objectsMax` objects. */
export async function fillReferrers(
  transaction: Transaction,
  catalog: Catalog,
  { cls, attribute: number }: UnfilledReferrers,
  newContainers: readonly Container[],
  objectsMax: number,
): Promise<void> {
  const formats = recordFormats(catalog)
  const classes = coveredClasses(catalog, cls)
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

/** Builds the entries while the index is pending. Throws IndexNotFound if it no longer is. */
export function buildReferrers(context: BuildContext, unfilled: UnfilledReferrers): Promise<void> {
  return buildEntries(context, sourceOfReferrers(unfilled), undefined)
}

function sourceOfReferrers({ cls, attribute: number, index }: UnfilledReferrers): IndexSource {
  const existing = (catalog: Catalog): AttributeFormat => {
    if (catalog.attribute(number)?.becoming?.referrers !== index) throw indexGone()
    return recordFormats(catalog).byNumber(cls).attribute(number)
  }
  return {
    ranges(snapshot, catalog) {
      const isLinkStored = existing(catalog).linkStorage !== undefined
      return presentRanges(snapshot, coveredClasses(catalog, cls), isLinkStored ? containerLinksRange : undefined)
    },
    // Each list in a record has many entries.
    batchBytes: (catalog) =>
      existing(catalog).attribute.spec.logicalType === 'list' ? scanBatchBytes : indexBuildBatchBytes,
    reader(catalog) {
      const attribute = existing(catalog)
      const { linkStorage } = attribute
      return linkStorage === undefined ? objectReader(catalog, attribute) : linkReader(attribute, linkStorage)
    },
  }
}

function objectReader(catalog: Catalog, { attribute: { number } }: AttributeFormat): ReturnType<IndexSource['reader']> {
  const formats = recordFormats(catalog)
  return (key, record) => {
    const oid = oidOfObjectKey(key)
    const format = formats.forShape(shapeNumberOf(record))
    return rowOfObject(key, record, entriesWith(keysOfRecord(format, format.attribute(number), oid, record), oid))
  }
}

function* entriesWith(keys: Iterable<Buffer>, oid: Oid): Generator<SourceEntry> {
  const value = oidBytes(oid)
  for (const key of keys) yield { key, value, isUniqueKey: false }
}

/** A link entry has one referrer entry, until its value changes. */
function linkReader(attribute: AttributeFormat, linkStorage: LinkStorage): ReturnType<IndexSource['reader']> {
  const { number } = attribute.attribute
  return (key, value) => {
    if (attributeOfKey(key) !== number || kindOfKey(key) !== kindOfForm[linkStorage]) return undefined
    const referrer = referrerOf(attribute, ownerOfKey(key), { key, value })
    if (referrer === undefined) return undefined
    const entries = [{ ...referrer, isUniqueKey: false }]
    return { key: Buffer.from(key), revision: Buffer.from(value), entries }
  }
}

function keysOfRecord(format: ClassFormat, attribute: AttributeFormat, oid: Oid, record: Bytes): Iterable<Buffer> {
  const { referrers, lists } = indexFormatsOf(format)
  const index = maintainedReferrers(attribute.attribute)
  const list = lists.find((one) => one.index === index)
  if (list !== undefined) {
    const targets = format.readValue(record, recordHeaderBytes, shapeNumberOf(record), attribute.index)
    return keysOfList(list.index, targets as readonly Oid[], oid)
  }
  const single = referrers.find((one) => one.index.number === index)
  assert(single !== undefined, 'an attribute whose entries are filled has an index for them')
  return [makeIndexKeyOfRecord(single, format, record, oid).key]
}

async function fillLinks(
  transaction: Transaction,
  { oid, attribute }: { readonly oid: Oid; readonly attribute: AttributeFormat },
): Promise<void> {
  const { linkStorage = 'list' } = attribute
  const range = linkRange(oid, attribute.attribute.number, kindOfForm[linkStorage])
  const entries = await transaction.readAndRequireRange(range, objectKey(oid))
  await inSlices(entries, (entry) => {
    // Entries of maps are updated in place.
    if (linkStorage === 'map') transaction.requireRevision(entry.key, entry.value)
    const referrer = referrerOf(attribute, oid, entry)
    if (referrer !== undefined) transaction.put(referrer.key, referrer.value)
  })
}

function referrerOf(attribute: AttributeFormat, owner: Oid, link: Entry): Entry | undefined {
  const target = attribute.linkStorage === 'set' ? targetOfKey(link.key) : oidFromBytes(link.value, 0)
  return referrerOfLink(attribute, owner, target, link)
}
