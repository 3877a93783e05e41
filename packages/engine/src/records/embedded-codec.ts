/** The codec of embedded objects: a shape number and a body, as in a record. */

import type { ByteWriter } from '../bytes/byte-writer.ts'
import type { JsonWriter } from '../bytes/json-writer.ts'
import { readUint32 } from '../bytes/read-number.ts'
import { unreachable } from '../errors.ts'
import type { Bytes } from '../store/store.ts'
import { runToEnd } from '../store/time-slice.ts'
import { type Codec, type StepwiseWork, ValueError } from '../types/logical-type.ts'
import type { ShapeNumber } from '../types/type-spec.ts'
import { mergeFields } from './apply-change.ts'
import type { ClassFormat } from './class-format.ts'
import { isFollowing } from './computed.ts'
import { creationValue, unevaluated } from './creation-value.ts'
import { readEmbeddedChange } from './read-change.ts'
import { readValuesStepwise } from './read-stepwise.ts'

const shapeBytes = 4
const noPositions: undefined[] = []

/** A value is an array of the attributes' values, in the order of the embedded class's attributes. */
export function embeddedCodec(format: ClassFormat): Codec<readonly unknown[]> {
  return {
    fixedBytes: undefined,
    isNullable: false,
    get defaultValue() {
      return format.defaultValues().values
    },
    parse: (json) => runToEnd(parseEmbedded(format, json)),
    parseStepwise: (json) => parseEmbedded(format, json),
    accept: (input) => acceptEmbedded(format, input as readonly unknown[]),
    write: (value, to) => writeEmbedded(format, value, to),
    writeStepwise: (value, to) => writeInPieces(format, value, to),
    readStepwise: (bytes, start, end) => readInPieces(format, bytes, start, end),
    read: (bytes, start, end) => format.readValues(bytes, start + shapeBytes, end, shapeAt(bytes, start)).values,
    writeJson: (bytes, start, _end, json) => writeEmbeddedJson(format, bytes, start, json),
    writeJsonStepwise: (bytes, start, _end, json) => writeEmbeddedStepwise(format, bytes, start, json),
    toJson: (value) => embeddedToJson(format, value),
  }
}

function* parseEmbedded(format: ClassFormat, json: unknown): StepwiseWork<readonly unknown[]> {
  const change = yield* readEmbeddedChange(format, json)
  return change.kind === 'merge'
    ? mergeFields(format, format.defaultValues().values, change.fields)
    : ((change as { value: unknown }).value as readonly unknown[])
}

/** Replaces null by the default for attributes whose type is not nullable. */
function acceptEmbedded(format: ClassFormat, values: readonly unknown[]): readonly unknown[] {
  return format.attributes.map(({ attribute, codec, index }) => {
    const value = values[index]
    if (value === unevaluated) return creationValue({ attribute, codec })
    if (value === null) return codec.isNullable ? null : codec.defaultValue
    try {
      return codec.accept(value)
    } catch (error) {
      if (error instanceof ValueError) error.path.unshift(attribute.outputName)
      throw error
    }
  })
}

function writeEmbedded(format: ClassFormat, values: readonly unknown[], to: ByteWriter): void {
  to.writeUint32(format.cls.shape.number)
  format.layout.encode(to, format.inShapeOrder(format.withStoredValues(values)), noPositions)
}

function* writeInPieces(format: ClassFormat, values: readonly unknown[], to: ByteWriter): StepwiseWork<void> {
  to.writeUint32(format.cls.shape.number)
  yield* format.layout.encodeStepwise(to, format.inShapeOrder(format.withStoredValues(values)), noPositions)
}

function* readInPieces(
  format: ClassFormat,
  bytes: Bytes,
  start: number,
  end: number,
): StepwiseWork<readonly unknown[]> {
  return (yield* readValuesStepwise(format, bytes, start + shapeBytes, end, shapeAt(bytes, start))).values
}

function writeEmbeddedJson(format: ClassFormat, bytes: Bytes, start: number, json: JsonWriter): void {
  const from = json.to.length
  format.writeAttributesJson(json, bytes, start + shapeBytes, shapeAt(bytes, start), unreachableLinks)
  closeObject(json, from)
}

function* writeEmbeddedStepwise(
  format: ClassFormat,
  bytes: Bytes,
  start: number,
  json: JsonWriter,
): StepwiseWork<void> {
  const from = json.to.length
  yield* format.writeAttributesStepwise(json, bytes, start + shapeBytes, shapeAt(bytes, start), unreachableLinks)
  closeObject(json, from)
}

/** Each attribute starts with a comma; the first comma is replaced by the opening brace. */
function closeObject(json: JsonWriter, comma: number): void {
  if (json.to.length === comma) {
    json.ascii('{}')
    return
  }
  json.to.bytes[comma] = 0x7b
  json.ascii('}')
}

function unreachableLinks(): never {
  unreachable('embedded objects keep all their values in the record')
}

function embeddedToJson(format: ClassFormat, values: readonly unknown[]): unknown {
  const visible = format.attributes.filter(({ attribute }) => !isFollowing(attribute))
  const entries = visible.map(({ attribute, codec, index }) => {
    const value = format.valueAt(values, index)
    return [attribute.outputName, value === null ? null : codec.toJson(value)]
  })
  return Object.fromEntries(entries)
}

function shapeAt(bytes: Bytes, start: number): ShapeNumber {
  return readUint32(bytes, start) as ShapeNumber
}
