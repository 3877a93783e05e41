/** What an index entry asks: that its index exists, and its object with just these values. */
import { makeIndexKeyOfRecord } from '../indexes/index-key.ts'
import { indexFormatsOf } from '../indexes/maintain.ts'
import { objectKey } from '../records/object-key.ts'
import { shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { IndexNumber } from '../schema/class-definition.ts'
import type { Bytes } from '../store/store.ts'
import { oidFromBytes } from '../types/oid.ts'
import type { Probe, VerifyContext } from './probe.ts'

export function probeIndexEntry(context: VerifyContext, key: Bytes, value: Bytes): Probe[] {
  const number = Buffer.from(key).readUInt32BE(1) as IndexNumber
  const index = context.catalog.indexByNumber(number)
  if (index === undefined) {
    if (!context.droppedIndexes.has(number))
      context.problems.push(`an entry belongs to index number ${number}, which does not exist`)
    return []
  }
  const oid = oidFromBytes(value, 0)
  const evaluate = (record: Bytes | undefined): string | undefined => {
    if (record === undefined) return `an entry of index ${index.name} names object ${oid}, which does not exist`
    const format = recordFormats(context.catalog).ofShape(shapeNumberOf(record))
    const keyFormat = indexFormatsOf(format).all.find((candidate) => candidate.index.number === number)
    if (keyFormat === undefined)
      return `index ${index.name} has an entry for object ${oid}, whose class it does not cover`
    const expected = makeIndexKeyOfRecord(keyFormat, format, record, oid).key
    return expected.equals(key) ? undefined : `an entry of index ${index.name} has other values than its object ${oid}`
  }
  return [{ key: objectKey(oid), evaluate }]
}
