/** Keys of index entries: their parts, and when they are unique. Part of the storage format. */
import { createHash } from 'node:crypto'
import type { ByteWriter } from '../bytes/byte-writer.ts'
import { keySpace, prefixEnd } from '../bytes/key-space.ts'
import { afterKeyValues, beforeKeyValues, KeyWriter } from '../bytes/key-writer.ts'
import { assert } from '../errors.ts'
import { keyBytesMax, keyDigestBytes } from '../limits.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { recordHeaderBytes, shapeNumberOf } from '../records/record-format.ts'
import type { Slice } from '../records/record-layout.ts'
import type { IndexDefinition, IndexNumber, KeyAttribute } from '../schema/class-definition.ts'
import type { Bytes } from '../store/store.ts'
import type { KeyCodec } from '../types/logical-type.ts'
import { noOid, type Oid, writeOid } from '../types/oid.ts'

/** Space reserved for each further part: the longest fixed-width part, or a text truncated to nothing. */
const partBytesReserved = 20
export const indexKeyHeaderBytes = 5
const oidLength = 8

export interface IndexKey {
  readonly key: Buffer
  /** True if all objects with these values have the same key, so that the precondition `absent` enforces uniqueness. */
  readonly isUniqueKey: boolean
}

/** The projection of objects of one class to the key of an index. */
export interface IndexKeyFormat {
  readonly index: IndexDefinition
  readonly parts: readonly KeyPart[]
  readonly hasStoredValues: boolean
}

interface KeyPart {
  /** Indexes of values: in the object, then in the embedded object found there, and so on. */
  readonly path: readonly number[]
  readonly format: AttributeFormat
  /** For an index built for a future type: converts the current value. */
  readonly convert: ((value: unknown) => unknown) | undefined
  /** The path as in requests: `address.city`, `Super::name`. */
  readonly name: string
  readonly textCharactersMax: number
}

export function indexKeyFormat(index: IndexDefinition, format: ClassFormat): IndexKeyFormat {
  const isReplacement = index.replaces !== undefined
  const parts = index.keyAttributes.map((keyAttribute) => resolvePart(keyAttribute, format, isReplacement))
  return {
    index,
    parts,
    hasStoredValues: parts.every(({ path, convert }) => path.length === 1 && convert === undefined),
  }
}

function resolvePart(keyAttribute: KeyAttribute, format: ClassFormat, isReplacement: boolean): KeyPart {
  const path: number[] = []
  const names: string[] = []
  let found: AttributeFormat | undefined
  let owner: ClassFormat | undefined = format
  for (const number of keyAttribute.path) {
    assert(owner !== undefined, 'a key attribute is reached through embedded objects')
    found = owner.attribute(number)
    path.push(found.index)
    names.push(found.attribute.outputName)
    owner = found.embedded
  }
  assert(found !== undefined, 'a key attribute names an attribute')
  const textCharactersMax = keyAttribute.maxStoredStringLength ?? Number.POSITIVE_INFINITY
  const pending = isReplacement ? found.pendingType : undefined
  const name = names.join('.')
  return { path, format: pending?.format ?? found, name, textCharactersMax, convert: pending?.convert }
}

export function extractKeyValues({ parts }: IndexKeyFormat, values: readonly unknown[]): unknown[] {
  const keyed = new Array<unknown>(parts.length)
  for (let i = 0; i < parts.length; i++) {
    const { path, convert } = parts[i] as KeyPart
    let value: unknown = values
    for (let step = 0; step < path.length; step++) value = (value as readonly unknown[])[path[step] as number]
    keyed[i] = convert === undefined || value === null ? value : convert(value)
  }
  return keyed
}

const writer = new KeyWriter()

/**
 * The parts, a digest of the full parts if one was truncated, and the OID unless the index is unique and no part is null or 0-0-0-0 (contract
 * 6.1.6). Thus two objects share an exclusive key exactly if their full values are equal.
 */
export function makeIndexKey(format: IndexKeyFormat, values: readonly unknown[], oid: Oid): IndexKey {
  return writtenKey(writeIndexKey(format, values), oid)
}

function writtenKey(isUniqueKey: boolean, oid: Oid): IndexKey {
  if (!isUniqueKey) writeOid(oid, writer.to)
  const key = writer.to.copy()
  assert(key.length <= keyBytesMax, 'an index key keeps within its limit')
  return { key, isUniqueKey }
}

/** The last key written by `writeIndexKey`. */
export const writtenIndexKey: Pick<ByteWriter, 'bytes' | 'length'> = writer.to

/** Writes the key without its OID suffix. Returns whether it has none: see `IndexKey.isUniqueKey`. */
export function writeIndexKey(format: IndexKeyFormat, values: readonly unknown[]): boolean {
  const keyed = extractKeyValues(format, values)
  const isUniqueKey = hasUniqueKey(format, keyed)
  startKey(format)
  for (let i = 0; i < keyed.length; i++) writeStoredPart(format, i, keyed[i])
  if (writer.isTruncated) {
    const parts = writer.to.copy()
    const digested = digest(format, keyed)
    writer.to.reset()
    writer.to.writeBytes(parts)
    writer.to.writeBytes(digested)
  }
  return isUniqueKey
}

/** Like `makeIndexKey`, but decodes only the key values of a record. */
export function makeIndexKeyOfRecord(format: IndexKeyFormat, cls: ClassFormat, record: Bytes, oid: Oid): IndexKey {
  const isUniqueKey = format.hasStoredValues ? writeKeyOfRecord(format, cls, record) : undefined
  if (isUniqueKey !== undefined) return writtenKey(isUniqueKey, oid)
  const values: unknown[] = []
  const shape = shapeNumberOf(record)
  for (const { path } of format.parts) {
    const index = path[0] as number
    values[index] = cls.readValue(record, recordHeaderBytes, shape, index)
  }
  return makeIndexKey(format, values, oid)
}

/** Like `writeIndexKey`, but copies most texts without decoding them. Returns undefined if a text was truncated. */
function writeKeyOfRecord(format: IndexKeyFormat, cls: ClassFormat, record: Bytes): boolean | undefined {
  const shape = shapeNumberOf(record)
  let { isUnique } = format.index
  startKey(format)
  for (let i = 0; i < format.parts.length; i++) {
    const part = format.parts[i] as KeyPart
    const index = part.path[0] as number
    const { writeStored } = keyCodecOf(part)
    const at = writeStored && cls.stored(record, recordHeaderBytes, shape, index)
    if (at !== undefined && !endsLikeNoOid(record, at)) {
      startPart(format, i)
      if (writeStored?.(record, at.start, at.end, writer) === true) continue
    }
    const value = cls.readValue(record, recordHeaderBytes, shape, index)
    writeStoredPart(format, i, value)
    if (writer.isTruncated) return undefined
    if (value === null || value === noOid) isUnique = false
  }
  return isUnique
}

/** May be true for a text that ends like a null reference; the caller then decodes the values. */
function endsLikeNoOid(record: Bytes, { end }: Readonly<Slice>): boolean {
  for (let i = 1; i <= 2; i++) if (record[end - i] !== noOid.charCodeAt(noOid.length - i)) return false
  return true
}

function hasUniqueKey({ index }: IndexKeyFormat, keyed: readonly unknown[]): boolean {
  if (!index.isUnique) return false
  return !keyed.includes(null) && !keyed.includes(noOid)
}

export interface KeyBound {
  readonly value: unknown
  readonly isInclusive: boolean
}

/** A condition on index entries: values of the first key attributes, and optionally a range of the next one. */
export interface KeyCondition {
  readonly equal: readonly unknown[]
  readonly lower?: KeyBound | undefined
  readonly upper?: KeyBound | undefined
}

export interface KeyConditionRange {
  readonly from: Buffer
  readonly to: Buffer
  /** `from` is the only possible key. */
  readonly isOneKey: boolean
}

export interface KeyBeginning {
  readonly key: Uint8Array
  readonly parts: number
}

/**
 * The range of all entries that satisfy the condition, which covers the parts after `beginning` if that is set. It may include further entries if a
 * text is truncated, so the caller must check the objects. A condition can require null, and no range contains it.
 */
export function keyConditionRange(
  format: IndexKeyFormat,
  { equal, lower, upper }: KeyCondition,
  beginning?: KeyBeginning,
): KeyConditionRange {
  startKey(format, beginning)
  const first = beginning?.parts ?? 0
  for (let i = 0; i < equal.length; i++) writeStoredPart(format, first + i, equal[i])
  const prefix = writer.to.copy()
  if (lower === undefined && upper === undefined) {
    const isExact = beginning === undefined && equal.length === format.parts.length && !writer.isTruncated
    return { from: prefix, to: prefixEnd(prefix), isOneKey: isExact && hasUniqueKey(format, equal) }
  }
  const next = first + equal.length
  return {
    isOneKey: false,
    from:
      lower === undefined
        ? Buffer.concat([prefix, beforeKeyValues])
        : boundKey(format, prefix, next, lower, !lower.isInclusive),
    to:
      upper === undefined
        ? Buffer.concat([prefix, afterKeyValues])
        : boundKey(format, prefix, next, upper, upper.isInclusive),
  }
}

/** The only possible key for these values of all parts; undefined if the index is not unique or a text is truncated. */
export function exactKey(format: IndexKeyFormat, values: readonly unknown[]): Buffer | undefined {
  if (!hasUniqueKey(format, values)) return undefined
  startKey(format)
  for (let i = 0; i < values.length; i++) writeStoredPart(format, i, values[i])
  return writer.isTruncated ? undefined : writer.to.copy()
}

/** `isAfter`: the position after all entries with the value. Entries of a truncated text may be equal to it, and stay in the range. */
function boundKey(format: IndexKeyFormat, prefix: Buffer, part: number, bound: KeyBound, isAfter: boolean): Buffer {
  startKey(format, { key: prefix, parts: part })
  writeStoredPart(format, part, bound.value)
  const key = writer.to.copy()
  const isLower = isAfter !== bound.isInclusive
  return (writer.isTruncated ? !isLower : isAfter) ? prefixEnd(key) : key
}

export function indexRange(index: IndexNumber): { from: Buffer; to: Buffer } {
  const from = Buffer.alloc(indexKeyHeaderBytes)
  from[0] = keySpace.index
  from.writeUInt32BE(index, 1)
  return { from, to: prefixEnd(from) }
}

function startKey({ index }: IndexKeyFormat, beginning?: KeyBeginning): void {
  writer.to.reset()
  writer.isTruncated = false
  if (beginning !== undefined) {
    writer.to.writeBytes(beginning.key)
    return
  }
  writer.to.writeByte(keySpace.index)
  writer.to.writeUint32(index.number)
}

/** Writes a part as stored: a text truncated to the stored length and to the space left. */
function writeStoredPart(format: IndexKeyFormat, i: number, value: unknown): void {
  startPart(format, i)
  writePart(format.parts[i] as KeyPart, value)
}

function startPart({ parts }: IndexKeyFormat, i: number): void {
  const reserved = (parts.length - 1 - i) * partBytesReserved + keyDigestBytes + oidLength
  writer.textCharactersMax = (parts[i] as KeyPart).textCharactersMax
  writer.textBytesMax = keyBytesMax - writer.to.length - reserved
}

function writePart(part: KeyPart, value: unknown): void {
  if (value === null) writer.null()
  else keyCodecOf(part).write(value, writer)
}

export function keyCodecOf({ format: { codec } }: KeyPart): KeyCodec {
  assert(codec.key !== undefined, 'a key attribute has a type that keys can be made of')
  return codec.key
}

function digest(format: IndexKeyFormat, keyed: readonly unknown[]): Buffer {
  writer.to.reset()
  writer.textCharactersMax = Number.POSITIVE_INFINITY
  writer.textBytesMax = Number.POSITIVE_INFINITY
  for (let i = 0; i < keyed.length; i++) writePart(format.parts[i] as KeyPart, keyed[i])
  return createHash('sha256').update(writer.to.bytes.subarray(0, writer.to.length)).digest().subarray(0, keyDigestBytes)
}
