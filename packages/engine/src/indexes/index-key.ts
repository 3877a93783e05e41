/** The key of an index entry: what it is made of, and when it stands for uniqueness. Part of the storage format. */
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

/** Room that every further key part can count on: the longest part of fixed width, or a text cut to nothing. */
const partBytesReserved = 20
/** Space and number of the index. */
export const indexKeyHeaderBytes = 5
const oidLength = 8

export interface IndexKey {
  readonly key: Buffer
  /** True where the key is the same for every object with these values: `absent` is then uniqueness. */
  readonly isUniqueKey: boolean
}

/** How one index sees objects of one class. */
export interface IndexKeyFormat {
  readonly index: IndexDefinition
  readonly parts: readonly KeyPart[]
  /** The parts are values of the object itself, as they are. */
  readonly isOfValues: boolean
}

interface KeyPart {
  /** Positions of values: in the object, then in the embedded object found there, and so on. */
  readonly path: readonly number[]
  readonly format: AttributeFormat
  /** Of an index that is built for a type that the attribute is to have: what a value of the present one becomes. */
  readonly convert: ((value: unknown) => unknown) | undefined
  /** As a request would write it: `address.city`, `Super::name`. */
  readonly name: string
  readonly textCharactersMax: number
}

export function indexKeyFormat(index: IndexDefinition, format: ClassFormat): IndexKeyFormat {
  const isReplacement = index.replaces !== undefined
  const parts = index.keyAttributes.map((keyAttribute) => resolvePart(keyAttribute, format, isReplacement))
  return { index, parts, isOfValues: parts.every(({ path, convert }) => path.length === 1 && convert === undefined) }
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

/** The values that the index sees, in key order. */
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
 * Parts, a digest of the full parts if any was cut, and the OID unless the index is unique and no part is null or
 * 0-0-0-0 (contract 6.1.6). So two objects share an exclusive key exactly when their full values are equal.
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

/** What `writeIndexKey` has written last. */
export const writtenIndexKey: Pick<ByteWriter, 'bytes' | 'length'> = writer.to

/** Writes the key without the OID that belongs to its end. Returns whether none does: see `IndexKey.isUniqueKey`. */
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

/** `makeIndexKey` from the object's record, of which only the values of the key are read. */
export function makeIndexKeyOfRecord(format: IndexKeyFormat, cls: ClassFormat, record: Bytes, oid: Oid): IndexKey {
  const isUniqueKey = format.isOfValues ? writeKeyOfRecord(format, cls, record) : undefined
  if (isUniqueKey !== undefined) return writtenKey(isUniqueKey, oid)
  const values: unknown[] = []
  const shape = shapeNumberOf(record)
  for (const { path } of format.parts) {
    const index = path[0] as number
    values[index] = cls.readValue(record, recordHeaderBytes, shape, index)
  }
  return makeIndexKey(format, values, oid)
}

/** `writeIndexKey` without a list of values, of which most texts are not even decoded. Undefined where a text was cut. */
function writeKeyOfRecord(format: IndexKeyFormat, cls: ClassFormat, record: Bytes): boolean | undefined {
  const shape = shapeNumberOf(record)
  let { isUnique } = format.index
  startKey(format)
  for (let i = 0; i < format.parts.length; i++) {
    const part = format.parts[i] as KeyPart
    const index = part.path[0] as number
    const { writeStored } = keyCodecOf(part)
    const at = writeStored && cls.stored(record, recordHeaderBytes, shape, index)
    if (at !== undefined && !endsAsNoOid(record, at)) {
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

/** A text may look like a reference to nothing, too: whatever ends like one is read. */
function endsAsNoOid(record: Bytes, { end }: Readonly<Slice>): boolean {
  for (let i = 1; i <= 2; i++) if (record[end - i] !== noOid.charCodeAt(noOid.length - i)) return false
  return true
}

/** Whether the key of these values stands for uniqueness. */
function hasUniqueKey({ index }: IndexKeyFormat, keyed: readonly unknown[]): boolean {
  if (!index.isUnique) return false
  return !keyed.includes(null) && !keyed.includes(noOid)
}

/** One end of a range of values of a key attribute. */
export interface KeyBound {
  readonly value: unknown
  readonly isInclusive: boolean
}

/** What is asked of the entries: values of the first key attributes, then perhaps a range of the next one. */
export interface KeyCondition {
  readonly equal: readonly unknown[]
  readonly lower?: KeyBound | undefined
  readonly upper?: KeyBound | undefined
}

export interface KeyConditionRange {
  readonly from: Buffer
  readonly to: Buffer
  /** The only key that an entry of the condition can have is `from`. */
  readonly isOneKey: boolean
}

/** What the keys of a range begin with: that many parts of an entry's key, as they stand there. */
export interface KeyBeginning {
  readonly key: Uint8Array
  readonly parts: number
}

/**
 * The range that has every entry of the condition, which is on the parts behind `beginning` where that is given. It may have others where a text
 * is cut: what is found is to be checked on the object then. Null is a value that can be asked for, and no range has it.
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
    const isWhole = beginning === undefined && equal.length === format.parts.length && !writer.isTruncated
    return { from: prefix, to: prefixEnd(prefix), isOneKey: isWhole && hasUniqueKey(format, equal) }
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

/** The only key that an entry with these values of all parts can have; undefined where there may be several: the index is not unique, or a text is cut. */
export function exactKey(format: IndexKeyFormat, values: readonly unknown[]): Buffer | undefined {
  if (!hasUniqueKey(format, values)) return undefined
  startKey(format)
  for (let i = 0; i < values.length; i++) writeStoredPart(format, i, values[i])
  return writer.isTruncated ? undefined : writer.to.copy()
}

/** `isAfter`: after every entry with the value. Entries of a text that is cut may be equal to it, and stay within. */
function boundKey(format: IndexKeyFormat, prefix: Buffer, part: number, bound: KeyBound, isAfter: boolean): Buffer {
  startKey(format, { key: prefix, parts: part })
  writeStoredPart(format, part, bound.value)
  const key = writer.to.copy()
  const isLower = isAfter !== bound.isInclusive
  return (writer.isTruncated ? !isLower : isAfter) ? prefixEnd(key) : key
}

/** The range of all entries of an index. */
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

/** A part as entries have it: a text cut to what the index stores, and to what there is room for. */
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
