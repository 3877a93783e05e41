/** The type list: values of one type in insertion order; duplicates allowed. */
import type { ByteWriter } from '../bytes/byte-writer.ts'
import type { JsonWriter } from '../bytes/json-writer.ts'
import { enumField, wrongField } from './definition-fields.ts'
import { eachElement, elementSlices, writeElementStepwise, writeElements } from './element-bytes.ts'
import type { ElementType } from './element-type.ts'
import { type Codec, formatForMessage, type LogicalType, type StepwiseWork, ValueError } from './logical-type.ts'
import type { ListSpec } from './type-spec.ts'

const noName = ''

/** `elements` defines the element type: any but a collection. */
export function listTypeOf(elements: ElementType): LogicalType<ListSpec> {
  return {
    logicalType: 'list',
    fields: ['storage', 'collectionTypeName', 'elementSpecification'],
    define(definition, context) {
      enumField(definition, 'storage', ['variable'], 'variable')
      const names = [noName, 'TreeListOfReferences', 'SegmentedArray'] as const
      const name = enumField(definition, 'collectionTypeName', names, noName)
      const element = elements.define(definition, 'elementSpecification', context)
      if (name === 'TreeListOfReferences' && element.logicalType !== 'reference') {
        throw wrongField('collectionTypeName', 'InvalidDefinition', 'TreeListOfReferences holds references only')
      }
      return { logicalType: 'list', collectionTypeName: name === noName ? null : name, element }
    },
    describe: ({ collectionTypeName, element }, context) => ({
      logicalType: 'list',
      ...(collectionTypeName === null ? { storage: 'variable' } : { collectionTypeName }),
      elementSpecification: elements.describe(element, context),
    }),
    codec: (spec, context) =>
      listCodec(elements.codec(spec.element, context), spec.element.logicalType === 'reference'),
  }
}

/** `holdsReferences`: null elements are null references. */
export function listCodec(element: Codec, holdsReferences: boolean): Codec<readonly unknown[]> {
  return {
    fixedBytes: undefined,
    isNullable: false,
    defaultValue: [],
    parse(json) {
      return takeEach(parseArray(json), holdsReferences, (value) => element.parse(value))
    },
    parseStepwise: (json) => parseEach(element, parseArray(json), holdsReferences),
    accept: (input) => takeEach(input as readonly unknown[], holdsReferences, (value) => element.accept(value)),
    write: (elements, to) => writeElements(element, elements, to),
    writeStepwise: (elements, to) => writeEach(element, elements, to),
    readStepwise: (bytes, start, end) => readEach(element, bytes, start, end),
    read(bytes, start, end) {
      const elements: unknown[] = []
      eachElement(element, bytes, start, end, (from, to) => elements.push(element.read(bytes, from, to)))
      return elements
    },
    writeJson: (bytes, start, end, json) => writeArrayJson(element, bytes, start, end, json),
    writeJsonStepwise: (bytes, start, end, json) => writeArrayStepwise(element, bytes, start, end, json),
    toJson: (elements) => elements.map((value) => element.toJson(value)),
  }
}

/** Empty for null. Throws ValueError. */
export function parseArray(json: unknown): readonly unknown[] {
  if (json === null) return []
  if (!Array.isArray(json)) throw new ValueError('MalformedValue', `${formatForMessage(json)} is not an array`)
  return json
}

/** Null is a null reference in a list of references, and rejected in other lists. */
function takeEach(input: readonly unknown[], mayBeNull: boolean, take: (value: unknown) => unknown): unknown[] {
  const elements: unknown[] = []
  try {
    for (const value of input) {
      checkNull(value, mayBeNull)
      elements.push(take(value))
    }
    return elements
  } catch (error) {
    throw atPosition(error, elements.length)
  }
}

function checkNull(value: unknown, mayBeNull: boolean): void {
  if (value !== null || mayBeNull) return
  throw new ValueError('MalformedValue', 'null is an element of lists of references only')
}

function atPosition(error: unknown, position: number): unknown {
  if (error instanceof ValueError) error.path.unshift(position)
  return error
}

function* parseEach(codec: Codec, input: readonly unknown[], mayBeNull: boolean): StepwiseWork<unknown[]> {
  const elements: unknown[] = []
  try {
    for (const value of input) {
      checkNull(value, mayBeNull)
      elements.push(codec.parseStepwise === undefined ? codec.parse(value) : yield* codec.parseStepwise(value))
      if (elements.length % elementsPerPiece === 0) yield
    }
    return elements
  } catch (error) {
    throw atPosition(error, elements.length)
  }
}

function* writeEach(codec: Codec, elements: readonly unknown[], to: ByteWriter): StepwiseWork<void> {
  for (let at = 0; at < elements.length; at += elementsPerPiece) {
    if (at > 0) yield
    const piece = elements.length <= elementsPerPiece ? elements : elements.slice(at, at + elementsPerPiece)
    if (codec.writeStepwise === undefined) writeElements(codec, piece, to)
    else for (const element of piece) yield* writeElementStepwise(codec, element, to)
  }
}

function* readEach(codec: Codec, bytes: Uint8Array, start: number, end: number): StepwiseWork<unknown[]> {
  const elements: unknown[] = []
  for (const [from, to] of elementSlices(codec, bytes, start, end)) {
    if (codec.readStepwise !== undefined && to - from > longElementBytes) {
      elements.push(yield* codec.readStepwise(bytes, from, to))
    } else elements.push(codec.read(bytes, from, to))
    if (elements.length % elementsPerPiece === 0) yield
  }
  return elements
}

function writeArrayJson(codec: Codec, bytes: Uint8Array, start: number, end: number, json: JsonWriter): void {
  json.ascii('[')
  let isFirst = true
  eachElement(codec, bytes, start, end, (from, to) => {
    if (!isFirst) json.ascii(',')
    isFirst = false
    codec.writeJson(bytes, from, to, json)
  })
  json.ascii(']')
}

const elementsPerPiece = 100
/** Shorter elements are read as a whole. */
const longElementBytes = 4_096

function* writeArrayStepwise(
  codec: Codec,
  bytes: Uint8Array,
  start: number,
  end: number,
  json: JsonWriter,
): StepwiseWork<void> {
  json.ascii('[')
  let position = 0
  for (const [from, to] of elementSlices(codec, bytes, start, end)) {
    if (position > 0) json.ascii(',')
    if (codec.writeJsonStepwise !== undefined && to - from > longElementBytes) {
      yield* codec.writeJsonStepwise(bytes, from, to, json)
    } else codec.writeJson(bytes, from, to, json)
    if (++position % elementsPerPiece === 0) yield
  }
  json.ascii(']')
}
