/** Reads an object as the values that its JSON text has, without the text: for programs that use the engine in the same process. */
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { isFollowing } from '../records/computed.ts'
import { objectKey } from '../records/object-key.ts'
import { isLongRecord, recordHeaderBytes, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { Awaitable, Bytes, Snapshot } from '../store/store.ts'
import type { Oid } from '../types/oid.ts'
import type { TypeSpec } from '../types/type-spec.ts'
import { isExpectedLarge } from './long-records.ts'

/** Types whose JSON is one value. */
const scalarTypes: ReadonlySet<TypeSpec['logicalType']> = new Set([
  'boolean',
  'bytes',
  'character',
  'date',
  'datetime',
  'decimal',
  'guid',
  'integer',
  'interval',
  'real',
  'reference',
  'string',
  'time',
])

/** The attributes in a reply; null for a class of which one is no scalar. */
const attributesOf = new WeakMap<ClassFormat, readonly AttributeFormat[] | null>()

/**
 * Adds the attributes to `to`, in the order of the text. Returns undefined, with nothing added, if there is no such object of exactly this class, or if its text has more than
 * scalars or is long. Integers of 64 bits are bigints.
 */
export function readPlainValues(
  snapshot: Snapshot,
  catalog: Catalog,
  oid: Oid,
  className: string,
  to: Record<string, unknown>,
): Awaitable<object | undefined> {
  if (isExpectedLarge(catalog, oid)) return undefined
  const formats = recordFormats(catalog)
  return snapshot.view(objectKey(oid), (record) => {
    const format = formats.forShape(shapeNumberOf(record))
    const attributes = plainAttributes(format)
    if (format.cls.name !== className || attributes === null || isLongRecord(record)) return undefined
    return addValues(format, attributes, record, to)
  })
}

function plainAttributes(format: ClassFormat): readonly AttributeFormat[] | null {
  let attributes = attributesOf.get(format)
  if (attributes === undefined) {
    const replied = format.attributes.filter(({ attribute }) => !isFollowing(attribute))
    attributes = replied.every(isPlain) && !format.hasPendingType ? replied : null
    attributesOf.set(format, attributes)
  }
  return attributes
}

/** An assignment to one name would set the prototype. */
function isPlain({ attribute, linkStorage }: AttributeFormat): boolean {
  const { spec, outputName } = attribute
  return linkStorage === undefined && scalarTypes.has(spec.logicalType) && outputName !== '__proto__'
}

function addValues(
  format: ClassFormat,
  attributes: readonly AttributeFormat[],
  record: Bytes,
  to: Record<string, unknown>,
): object {
  const shape = shapeNumberOf(record)
  for (const { index, codec, attribute } of attributes) {
    const value = format.readValue(record, recordHeaderBytes, shape, index)
    to[attribute.outputName] = value === null || value === undefined ? null : codec.toJson(value)
  }
  return to
}
