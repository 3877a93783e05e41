/** Records: shape number and revision, then the values. Part of the storage format. */
import { ByteWriter } from '../bytes/byte-writer.ts'
import { readUint32 } from '../bytes/read-number.ts'
import { AshlarError } from '../errors.ts'
import { recordBytesMax } from '../limits.ts'
import type { Awaitable, Bytes } from '../store/store.ts'
import { runYielding } from '../store/time-slice.ts'
import { commitIdBytes } from '../transaction/store-session.ts'
import type { StepwiseWork } from '../types/logical-type.ts'
import type { ShapeNumber } from '../types/type-spec.ts'
import type { ClassFormat } from './class-format.ts'
import { readValuesStepwise } from './read-stepwise.ts'
import type { RecordValues } from './record-values.ts'

const shapeBytes = 4
/** The header of a record: shape number and revision, which together form a precondition. */
export const recordHeaderBytes = shapeBytes + commitIdBytes

export function shapeNumberOf(record: Bytes): ShapeNumber {
  return readUint32(record, 0) as ShapeNumber
}

export function revisionPrefixOf(record: Bytes): Bytes {
  return record.subarray(0, recordHeaderBytes)
}

/** The ID of the commit that wrote the record, independent of the shape in which it is shown. */
export function commitIdOf(record: Bytes): Bytes {
  return record.subarray(shapeBytes, recordHeaderBytes)
}

const roomToBeginWith = 4_096
/** Larger buffers are not reused for the next record. */
const roomRetainedMax = 1_048_576

let writer = new ByteWriter(roomToBeginWith)

/** A record in the class's present shape. `commitId`: the revision, the ID of the commit that writes it. Throws LimitExceeded. */
export function encodeRecord(format: ClassFormat, commitId: Bytes, content: RecordValues): Buffer {
  writer.reset()
  try {
    writeRecord(format, commitId, content, writer)
    return encodedIn(format, writer)
  } finally {
    if (writer.bytes.length > roomRetainedMax) writer = new ByteWriter(roomToBeginWith)
  }
}

/** Like `encodeRecord`; yields while long values are encoded. */
export function encodeLongRecord(format: ClassFormat, commitId: Bytes, content: RecordValues): Awaitable<Buffer> {
  if (!format.layout.hasLongValues) return encodeRecord(format, commitId, content)
  const to = writer
  to.reset()
  writeHeader(format, commitId, to)
  const pieces = format.layout.encodeStepwise(to, content.values, content.positions)
  if (pieces.next().done === true) return encodedIn(format, to)
  // Other records are encoded between the pieces.
  writer = new ByteWriter(roomToBeginWith)
  return runYielding(pieces).then(() => encodedIn(format, to))
}

/** Like `encodeRecord`, appended to a buffer and without a length limit. */
export function writeRecord(format: ClassFormat, commitId: Bytes, content: RecordValues, to: ByteWriter): void {
  writeHeader(format, commitId, to)
  format.layout.encode(to, content.values, content.positions)
}

function writeHeader({ cls }: ClassFormat, commitId: Bytes, to: ByteWriter): void {
  to.writeUint32(cls.shape.number)
  to.writeBytes(commitId)
}

/** The record in the buffer. */
function encodedIn(format: ClassFormat, to: ByteWriter): Buffer {
  if (to.length > recordBytesMax) throw tooLarge(format, to.length)
  return to.length > longRecordBytes ? to.takeBytes() : to.copy()
}

function tooLarge({ cls: { name } }: ClassFormat, bytes: number): AshlarError {
  const message = `An object of class ${name} is stored in ${recordBytesMax} bytes (recordBytesMax) at most; this one would take ${bytes}.`
  return new AshlarError('LimitExceeded', message)
}

export function decodeRecord(format: ClassFormat, record: Bytes): RecordValues {
  return format.readValues(record, recordHeaderBytes, record.length, shapeNumberOf(record))
}

/** `decodeRecord` in pieces. */
export function decodeStepwise(format: ClassFormat, record: Bytes): StepwiseWork<RecordValues> {
  return readValuesStepwise(format, record, recordHeaderBytes, record.length, shapeNumberOf(record))
}

const longRecordBytes = 65_536

/** Whether processing the record may take milliseconds and should use a separate buffer. */
export function isLongRecord(record: Bytes): boolean {
  return record.length > longRecordBytes
}
