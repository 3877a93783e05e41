/** list: values of one type in insertion order; duplicates allowed. */
import type { JsonWriter } from '../bytes/json-writer.ts'
import { enumField, wrongField } from './definition-fields.ts'
import {
  areLong,
  eachElement,
  eachElementInPieces,
  PieceCount,
  writeElements,
  writeElementsInPieces,
} from './element-bytes.ts'
import type { ElementType } from './element-type.ts'
import {
  type Codec,
  type CodecInPieces,
  formatForMessage,
  type LogicalType,
  longValueBytes,
  type Pieces,
  ValueError,
} from './logical-type.ts'
import type { ListSpec } from './type-spec.ts'

const noName = ''

/** `elements` defines the element type: any but a collection. */
export function listOf(elements: ElementType): LogicalType<ListSpec> {
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

type LongCodec<V> = Codec<V> & { readonly inPieces: CodecInPieces<V> }

/** `holdsReferences`: null is the reference to nothing. */
export function listCodec(element: Codec, holdsReferences: boolean): LongCodec<readonly unknown[]> {
  return {
    fixedBytes: undefined,
    isNullable: false,
    defaultValue: [],
    parse(json) {
      return takeEach(givenArray(json), holdsReferences, (value) => element.parse(value))
    },
    accept: (given) => takeEach(given as readonly unknown[], holdsReferences, (value) => element.accept(value)),
    write: (elements, to) => writeElements(element, elements, to),
    read(bytes, start, end) {
      const elements: unknown[] = []
      eachElement(element, bytes, start, end, (from, to) => elements.push(element.read(bytes, from, to)))
      return elements
    },
    writeJson: (bytes, start, end, json) => writeArrayJson(element, bytes, start, end, json),
    toJson: (elements) => elements.map((value) => element.toJson(value)),
    inPieces: {
      isLong: (elements) => areLong(element, elements),
      parse: (json) => parseInPieces(element, givenArray(json), holdsReferences),
      write: (elements, to) => writeElementsInPieces(element, elements, to),
      *read(bytes, start, end) {
        const elements: unknown[] = []
        yield* eachElementInPieces(element, bytes, start, end, (from, to) => {
          if (!isShort(element, from, to)) return readLong(element, bytes, from, to, elements)
          elements.push(element.read(bytes, from, to))
          return undefined
        })
        return elements
      },
      writeJson: (bytes, start, end, json) => writeArrayJsonInPieces(element, bytes, start, end, json),
    },
  }
}

/** None for null. Throws ValueError. */
export function givenArray(json: unknown): readonly unknown[] {
  if (json === null) return []
  if (!Array.isArray(json)) throw new ValueError('MalformedValue', `${formatForMessage(json)} is not an array`)
  return json
}

function* parseInPieces(element: Codec, given: readonly unknown[], mayBeNull: boolean): Pieces<unknown[]> {
  const elements: unknown[] = []
  const pieces = new PieceCount()
  try {
    for (const value of given) {
      if (value === null && !mayBeNull) throw nullElement()
      const { inPieces } = element
      const isContainer = inPieces !== undefined && typeof value === 'object'
      elements.push(isContainer ? yield* inPieces.parse(value) : element.parse(value))
      if (pieces.isOverAt(0)) yield
    }
    return elements
  } catch (error) {
    if (error instanceof ValueError) error.path.unshift(elements.length)
    throw error
  }
}

function isShort(element: Codec, start: number, end: number): boolean {
  return element.inPieces === undefined || end - start < longValueBytes
}

function* readLong(element: Codec, bytes: Uint8Array, start: number, end: number, into: unknown[]): Pieces<void> {
  into.push(yield* (element.inPieces as CodecInPieces).read(bytes, start, end))
}

/** A null is the reference to nothing in a list of references, and refused in any other. */
function takeEach(given: readonly unknown[], mayBeNull: boolean, take: (value: unknown) => unknown): unknown[] {
  const elements: unknown[] = []
  try {
    for (const value of given) {
      if (value === null && !mayBeNull) throw nullElement()
      elements.push(take(value))
    }
    return elements
  } catch (error) {
    if (error instanceof ValueError) error.path.unshift(elements.length)
    throw error
  }
}

function nullElement(): ValueError {
  return new ValueError('MalformedValue', 'null is an element of lists of references only')
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

/** As `writeArrayJson`. */
function* writeArrayJsonInPieces(
  codec: Codec,
  bytes: Uint8Array,
  start: number,
  end: number,
  json: JsonWriter,
): Pieces<void> {
  json.ascii('[')
  let isFirst = true
  yield* eachElementInPieces(codec, bytes, start, end, (from, to) => {
    if (!isFirst) json.ascii(',')
    isFirst = false
    if (!isShort(codec, from, to)) return codec.inPieces?.writeJson(bytes, from, to, json)
    codec.writeJson(bytes, from, to, json)
    return undefined
  })
  json.ascii(']')
}
