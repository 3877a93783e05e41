/** What every logical type provides: the check of its definition, and the codec of its values. */
import type { ByteWriter } from '../bytes/byte-writer.ts'
import type { JsonWriter } from '../bytes/json-writer.ts'
import type { KeyForm, KeyWriter } from '../bytes/key-writer.ts'
import type { NameField, TypeDefinition, TypeField } from './type-definition.ts'
import type { AttributeNumber, ClassNumber, TypeSpec } from './type-spec.ts'

/** How a definition finds the classes and attributes it names, also those defined in the same batch. */
export interface DefineContext {
  /** By full name or class number (digits). Throws UnknownClass. */
  resolveClass(text: string): { readonly number: ClassNumber; readonly name: string; readonly isReferenceable: boolean }
  /** The attribute of that class (own or inherited) by name, which stands in `field`. Throws UnknownAttribute. */
  resolveAttribute(classNumber: ClassNumber, attributeName: string, field: NameField): AttributeNumber
}

export interface DescribeContext {
  className(number: ClassNumber): string
  attributeName(number: AttributeNumber): string
  /** As that class, which has or inherits it, names it: `Super::name` where it is hidden. */
  attributeNameIn(classNumber: ClassNumber, number: AttributeNumber): string
}

/**
 * A fault in a value or definition, told without its place; containers prepend the path on its way up, and the
 * caller that knows class and attribute turns it into an AshlarError.
 */
export class ValueError extends Error {
  readonly type: 'MalformedValue' | 'ValueNotAllowed' | 'UnknownAttribute' | 'InvalidDefinition' | 'UnknownField'
  /** JSON-pointer steps from the value (or definition) given, outermost first. */
  path: (string | number)[] = []

  constructor(type: ValueError['type'], message: string) {
    super(message)
    this.name = 'ValueError'
    this.type = type
  }
}

/** Converts values of one attribute between JSON, memory, record bytes and index keys. `V` never includes null. */
export interface Codec<V = unknown> {
  /** Bytes a value takes, where every value takes the same; undefined for values of variable length. */
  readonly fixedBytes: number | undefined
  /** True where an explicit null is stored as null; false where null means empty, all defaults or 0-0-0-0. */
  readonly isNullable: boolean
  /** What an attribute not given holds; null where that is the default. */
  readonly defaultValue: V | null
  /** JSON → value; never called with null where `isNullable`. Throws ValueError. */
  parse(json: unknown): V
  /**
   * What an expression gives for it, in memory → value, with the checks of `parse`; never called with null where `isNullable`. Throws
   * ValueError.
   */
  accept(given: unknown): V
  /** Appends the value: exactly `fixedBytes` bytes where that is set. */
  write(value: V, to: ByteWriter): void
  /** The value in bytes[start, end). */
  read(bytes: Uint8Array, start: number, end: number): V
  /** Record bytes to JSON text with no value in between. */
  writeJson(bytes: Uint8Array, start: number, end: number, to: JsonWriter): void
  /** A value (not null) as the JSON that `writeJson` would write, for messages and tests. */
  toJson(value: V): unknown
  /** Present where the type can be a key attribute. */
  readonly key?: KeyCodec<V>
}

/** Work that yields after each millisecond or so, where others may have their turn. */
export type Pieces<T> = Generator<undefined, T, undefined>

/** A value within an index key: how it is written, and so that its end is found again without its type. */
export interface KeyCodec<V = unknown> {
  /** What `write` appends, from which `bytes/key-writer.ts` knows where it ends. */
  readonly form: KeyForm
  /** Byte order of what it writes = order of the values. */
  write(value: V, to: KeyWriter): void
  /** The value that was written, which is not cut; absent where a key does not tell all of it. `at`: behind the marker; `end`: of the part. */
  read?(key: Uint8Array, at: number, end: number): V
  /** The same as `write` of the value that `Codec.write` has written to these bytes; false, and nothing written, where it takes the value. */
  writeStored?(bytes: Uint8Array, start: number, end: number, to: KeyWriter): boolean
}

/** What a codec of a containing type needs of the layer above: the codec of an embedded class's objects. */
export interface CodecContext {
  embedded(classNumber: ClassNumber): Codec
}

export interface LogicalType<S extends TypeSpec = TypeSpec> {
  readonly logicalType: S['logicalType']
  /** The definition fields that belong to the type, `logicalType` not among them; any other is refused. */
  readonly fields: readonly TypeField[]
  /** Checks encoding × storage × length and fills in the defaults. Throws ValueError (InvalidDefinition). */
  define(definition: TypeDefinition, context: DefineContext): S
  /** The definition as a schema read shows it, with the defaults written out. `define` of it gives the same spec. */
  describe(spec: S, context: DescribeContext): TypeDefinition
  codec(spec: S, context: CodecContext): Codec
}

const shownCharactersMax = 60

/** A value as messages show it: JSON, cut to a length that can be read. */
export function formatForMessage(value: unknown): string {
  if (value === undefined) return 'nothing'
  // Nobody can write Infinity: it is what a double holds of 1e999.
  if (value === Number.POSITIVE_INFINITY) return `a number beyond ${Number.MAX_VALUE}`
  if (value === Number.NEGATIVE_INFINITY) return `a number beyond -${Number.MAX_VALUE}`
  // Integers beyond 2^53 come as bigint, which JSON.stringify refuses.
  if (typeof value === 'bigint' || typeof value === 'number') return cut(String(value))
  if (typeof value === 'symbol') return cut(value.description ?? '')
  if (typeof value === 'string') return cut(JSON.stringify(value.slice(0, shownCharactersMax + 1)))
  const text =
    JSON.stringify(value, (_name, part: unknown) => {
      if (typeof part === 'symbol') return Number(part.description)
      return typeof part === 'bigint' ? `${part}` : part
    }) ?? String(value)
  return cut(text)
}

function cut(text: string): string {
  return text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text
}
