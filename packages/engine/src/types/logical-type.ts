/** The interface of logical types: the validation of definitions, and the codec of values. */
import type { ByteWriter } from '../bytes/byte-writer.ts'
import type { JsonWriter } from '../bytes/json-writer.ts'
import type { KeyForm, KeyWriter } from '../bytes/key-writer.ts'
import type { NameField, TypeDefinition, TypeField } from './type-definition.ts'
import type { AttributeNumber, ClassNumber, TypeSpec } from './type-spec.ts'

/** Resolves classes and attributes named in definitions, including those defined in the same batch. */
export interface DefineContext {
  /** By full name or class number (digits). Throws UnknownClass. */
  resolveClass(text: string): { readonly number: ClassNumber; readonly name: string; readonly isReferenceable: boolean }
  /** The attribute of that class (own or inherited) with the name in `field`. Throws UnknownAttribute. */
  resolveAttribute(classNumber: ClassNumber, attributeName: string, field: NameField): AttributeNumber
}

export interface DescribeContext {
  className(number: ClassNumber): string
  attributeName(number: AttributeNumber): string
  /** The attribute's name in that class: `Super::name` if it is hidden. */
  attributeNameIn(classNumber: ClassNumber, number: AttributeNumber): string
}

/** A fault in a value or definition; containers prepend its path, and the caller that knows class and attribute makes an AshlarError of it. */
export class ValueError extends Error {
  readonly type: 'MalformedValue' | 'ValueNotAllowed' | 'UnknownAttribute' | 'InvalidDefinition' | 'UnknownField'
  /** JSON-pointer steps from the given value or definition, outermost first. */
  path: (string | number)[] = []

  constructor(type: ValueError['type'], message: string) {
    super(message)
    this.name = 'ValueError'
    this.type = type
  }
}

/** Converts values of one attribute between JSON, memory, record bytes and index keys. `V` never includes null. */
export interface Codec<V = unknown> {
  /** The size of every value, or undefined if sizes vary. */
  readonly fixedBytes: number | undefined
  /** True if an explicit null is stored as null; false if null means empty, all defaults or 0-0-0-0. */
  readonly isNullable: boolean
  /** The value of an attribute that is not given; null if that is the default. */
  readonly defaultValue: V | null
  /** The least and the greatest value, where there are such. */
  readonly range?: readonly [V, V]
  /** Parses JSON; never called with null if `isNullable`. Throws ValueError. */
  parse(json: unknown): V
  /** Converts an in-memory value of an expression, with the checks of `parse`; never called with null if `isNullable`. Throws ValueError. */
  accept(input: unknown): V
  /** Appends the value: exactly `fixedBytes` bytes if that is set. */
  write(value: V, to: ByteWriter): void
  /** Decodes bytes[start, end). */
  read(bytes: Uint8Array, start: number, end: number): V
  /** `parse`, `write` and `read` in pieces, for values that may have very many parts. */
  parseStepwise?(json: unknown): StepwiseWork<V>
  writeStepwise?(value: V, to: ByteWriter): StepwiseWork<void>
  readStepwise?(bytes: Uint8Array, start: number, end: number): StepwiseWork<V>
  /** Converts record bytes to JSON text directly. */
  writeJson(bytes: Uint8Array, start: number, end: number, to: JsonWriter): void
  /** `writeJson` in pieces, for values that may have very many parts. */
  writeJsonStepwise?(bytes: Uint8Array, start: number, end: number, to: JsonWriter): StepwiseWork<void>
  /** The JSON that `writeJson` would write for a non-null value, for messages and tests. */
  toJson(value: V): unknown
  /** Present if the type can be a key attribute. */
  readonly key?: KeyCodec<V>
}

/** Work that yields about once per millisecond. */
export type StepwiseWork<T> = Generator<undefined, T, undefined>

/** Encodes values in index keys, such that the end of a part is found without knowing its type. */
export interface KeyCodec<V = unknown> {
  /** The layout written by `write`, by which `bytes/key-writer.ts` finds its end. */
  readonly form: KeyForm
  /** Byte order of the encoding is value order. */
  write(value: V, to: KeyWriter): void
  /** Decodes a value that is not truncated; absent if keys do not contain the full value. `at`: after the marker; `end`: of the part. */
  read?(key: Uint8Array, at: number, end: number): V
  /** Like `write` for a value that `Codec.write` has encoded in these bytes; returns false, with nothing written, if the value has to be decoded. */
  writeStored?(bytes: Uint8Array, start: number, end: number, to: KeyWriter): boolean
}

/** Provided to codecs of containing types by the layer above: codecs of embedded objects. */
export interface CodecContext {
  embedded(classNumber: ClassNumber): Codec
}

export interface LogicalType<S extends TypeSpec = TypeSpec> {
  readonly logicalType: S['logicalType']
  /** The definition fields of the type except `logicalType`; all other fields are rejected. */
  readonly fields: readonly TypeField[]
  /** Checks encoding × storage × length and sets the defaults. Throws ValueError (InvalidDefinition). */
  define(definition: TypeDefinition, context: DefineContext): S
  /** The definition as in schema reads, with explicit defaults. `define` maps it to the same spec. */
  describe(spec: S, context: DescribeContext): TypeDefinition
  codec(spec: S, context: CodecContext): Codec
}

const messageCharactersMax = 60

/** A value for messages: JSON, truncated to a readable length. */
export function formatForMessage(value: unknown): string {
  if (value === undefined) return 'nothing'
  // Infinity cannot be written in JSON: it results from parsing 1e999.
  if (value === Number.POSITIVE_INFINITY) return `a number beyond ${Number.MAX_VALUE}`
  if (value === Number.NEGATIVE_INFINITY) return `a number beyond -${Number.MAX_VALUE}`
  // Integers beyond 2^53 are bigint, which JSON.stringify rejects.
  if (typeof value === 'bigint' || typeof value === 'number') return cut(String(value))
  if (typeof value === 'symbol') return cut(value.description ?? '')
  if (typeof value === 'string') return cut(JSON.stringify(value.slice(0, messageCharactersMax + 1)))
  const text =
    JSON.stringify(value, (_name, part: unknown) => {
      if (typeof part === 'symbol') return Number(part.description)
      return typeof part === 'bigint' ? `${part}` : part
    }) ?? String(value)
  return cut(text)
}

function cut(text: string): string {
  return text.length > messageCharactersMax ? `${text.slice(0, messageCharactersMax)}…` : text
}
