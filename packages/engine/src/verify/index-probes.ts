/** Probes of an index entry: its index exists, and its object has exactly these values. */
import { makeIndexKeyOfRecord } from '../indexes/index-key.ts'
import { indexFormatsOf } from '../indexes/maintain.ts'
import { elementOfReferrer, sourceOfReferrerKey, targetOfReferrerKey } from '../indexes/referrer-entries.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { nameKey, positionKey, targetKey } from '../records/link-keys.ts'
import { objectKey } from '../records/object-key.ts'
import { decodeRecord, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { IndexDefinition, IndexNumber } from '../schema/class-definition.ts'
import { maintainedReferrers } from '../schema/referrer-indexes.ts'
import type { Bytes } from '../store/store.ts'
import { type Oid, oidFromBytes } from '../types/oid.ts'
import { mustExist, type Probe, type VerifyContext } from './probe.ts'

export function probeIndexEntry(context: VerifyContext, key: Bytes, value: Bytes): Probe[] {
  const number = Buffer.from(key).readUInt32BE(1) as IndexNumber
  const attribute = referrersIn(context.catalog).get(number)
  if (attribute?.linkStorage !== undefined) return [probeReferrerOfLink(attribute, key, value)]
  const index = attribute === undefined ? context.catalog.indexByNumber(number) : referrersAsIndex(attribute, number)
  if (index === undefined) {
    if (!context.droppedIndexes.has(number))
      context.problems.push(`an entry belongs to index number ${number}, which does not exist`)
    return []
  }
  const oid = oidFromBytes(value, 0)
  const evaluate = (record: Bytes | undefined): string | undefined => {
    if (record === undefined) return `an entry of index ${index.name} names object ${oid}, which does not exist`
    const format = recordFormats(context.catalog).forShape(shapeNumberOf(record))
    const list = indexFormatsOf(format).lists.find((one) => one.index === number)
    if (list !== undefined) {
      const targets = decodeRecord(format, record).values[list.attribute.index] as readonly Oid[]
      return targets.includes(targetOfReferrerKey(key)) ? undefined : otherValues(index.name, oid)
    }
    const keyFormat = indexFormatsOf(format).all.find((candidate) => candidate.index.number === number)
    if (keyFormat === undefined)
      return `index ${index.name} has an entry for object ${oid}, whose class it does not cover`
    const expected = makeIndexKeyOfRecord(keyFormat, format, record, oid).key
    return expected.equals(key) ? undefined : otherValues(index.name, oid)
  }
  return [{ key: objectKey(oid), evaluate }]
}

function otherValues(index: string, oid: Oid): string {
  return `an entry of index ${index} has other values than its object ${oid}`
}

/** A referrer entry of a collection stored as links is matched by the link entry. */
function probeReferrerOfLink(attribute: AttributeFormat, key: Bytes, value: Bytes): Probe {
  const [target, source] = [targetOfReferrerKey(key), sourceOfReferrerKey(key)]
  const { linkStorage, attribute: one } = attribute
  const problem = `object ${source} is said to refer to ${target} by ${one.name}, and does not`
  if (linkStorage === 'set') return mustExist(targetKey(source, one.number, target), problem)
  const element = elementOfReferrer(value)
  const isList = linkStorage === 'list'
  return {
    key: isList ? positionKey(source, one.number, element) : nameKey(source, one.number, element),
    evaluate: (link) => (link !== undefined && oidFromBytes(link, 0) === target ? undefined : problem),
  }
}

function referrersAsIndex({ attribute }: AttributeFormat, number: IndexNumber): Pick<IndexDefinition, 'name'> {
  return { name: `${number} of ${attribute.declaringClass.name}.${attribute.name}` }
}

const referrersOfCatalogs = new WeakMap<Catalog, ReadonlyMap<IndexNumber, AttributeFormat>>()

/** Attributes with referrer entries, by the numbers of their indexes. */
function referrersIn(catalog: Catalog): ReadonlyMap<IndexNumber, AttributeFormat> {
  let cached = referrersOfCatalogs.get(catalog)
  if (cached === undefined) {
    const formats = recordFormats(catalog)
    const found = catalog.classes.flatMap((cls) =>
      cls.definition.attributes.flatMap((attribute): [IndexNumber, AttributeFormat][] => {
        const index = maintainedReferrers(attribute)
        return index === undefined ? [] : [[index, formats.of(cls).attribute(attribute.number)]]
      }),
    )
    cached = new Map(found)
    referrersOfCatalogs.set(catalog, cached)
  }
  return cached
}
