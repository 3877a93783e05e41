/** Records: shape number and revision, then the values. Part of the storage format. */
import { ByteWriter } from '../bytes/byte-writer.ts'
import { readUint32 } from '../bytes/read-number.ts'
import { AshlarError } from '../errors.ts'
import { recordBytesMax } from '../limits.ts'
import type { Bytes } from '../store/store.ts'
import { commitIdBytes } from '../transaction/store-session.ts'
import { longValueBytes, type Pieces } from '../types/logical-type.ts'
import type { ShapeNumber } from '../types/type-spec.ts'
import type { ClassFormat } from './class-format.ts'
import type { RecordValues } from './record-values.ts'

const shapeBytes = 4
/** What a record begins with: its shape number and its revision, together the text of a precondition. */
export const recordHeaderBytes = shapeBytes + commitIdBytes

export function shapeNumberOf(record: Bytes): ShapeNumber {
  return readUint32(record, 0) as ShapeNumber
}

export function revisionPrefixOf(record: Bytes): Bytes {
  return record.subarray(0, recordHeaderBytes)
}

/** The ID of the commit that has written it; the same in whatever shape the record is shown. */
export function commitIdOf(record: Bytes): Bytes {
  return record.subarray(shapeBytes, recordHeaderBytes)
}

const writer = new ByteWriter(4_096)

/** A record in the class's present shape. `commitId` is the revision: the ID of the commit that writes it. Throws LimitExceeded. */
export function encodeRecord(format: ClassFormat, commitId: Bytes, content: RecordValues): Buffer {
  writer.reset()
  writeRecord(format, commitId, content, writer)
  if (writer.length > recordBytesMax) throw tooLarge(format, writer.length)
  return writer.copy()
}

/** Appends the same, of whatever length. */
export function writeRecord(format: ClassFormat, commitId: Bytes, content: RecordValues, to: ByteWriter): void {
  to.writeUint32(format.cls.shape.number)
  to.writeBytes(commitId)
  format.layout.encode(to, content.values, content.positions)
}

/** The same of values that may be long (`ClassFormat.isLong`), in pieces. */
export function* encodeRecordInPieces(format: ClassFormat, commitId: Bytes, content: RecordValues): Pieces<Buffer> {
  // A buffer that doubles would be copied over and over, and half of it be of no use.
  const own = new ByteWriter(longValueBytes + textLengths(content.values))
  own.writeUint32(format.cls.shape.number)
  own.writeBytes(commitId)
  yield* format.layout.encodeInPieces(own, content.values, content.positions)
  if (own.length > recordBytesMax) throw tooLarge(format, own.length)
  return own.taken()
}

/** Of texts, in characters, which most texts have as many of as bytes. */
function textLengths(values: readonly unknown[]): number {
  let characters = 0
  for (const value of values) if (typeof value === 'string') characters += value.length
  return characters
}

function tooLarge({ cls: { name } }: ClassFormat, bytes: number): AshlarError {
  const message = `An object of class ${name} is stored in ${recordBytesMax} bytes (recordBytesMax) at most; this one would take ${bytes}.`
  return new AshlarError('LimitExceeded', message)
}

export function decodeRecord(format: ClassFormat, record: Bytes): RecordValues {
  return format.readValues(record, recordHeaderBytes, record.length, shapeNumberOf(record))
}

/** The same in pieces; of a record that is not `isLongRecord`, there is one. */
export function decodeRecordInPieces(format: ClassFormat, record: Bytes): Pieces<RecordValues> {
  return format.readValuesInPieces(record, recordHeaderBytes, record.length, shapeNumberOf(record))
}

/** Whether a record may hold a value that takes long to read. */
export function isLongRecord(record: Bytes): boolean {
  return record.length > longValueBytes
}
