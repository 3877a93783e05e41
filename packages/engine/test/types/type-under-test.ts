/** One logical type under test: definitions through `defineType`, values through the codec and all its forms. */
import { expect } from 'vitest'
import { ByteWriter } from '../../src/bytes/byte-writer.ts'
import { JsonWriter } from '../../src/bytes/json-writer.ts'
import { KeyWriter } from '../../src/bytes/key-writer.ts'
import { AshlarError } from '../../src/errors.ts'
import type { JsonObject } from '../../src/requests/json-fields.ts'
import { readAttribute } from '../../src/requests/read-class-descriptions.ts'
import { codecFor, defineType, describeType } from '../../src/types/index.ts'
import { JsonValue } from '../../src/types/json-value.ts'
import {
  type Codec,
  type CodecContext,
  type DefineContext,
  type DescribeContext,
  ValueError,
} from '../../src/types/logical-type.ts'
import type { TypeDefinition } from '../../src/types/type-definition.ts'
import type { AttributeNumber, ClassNumber, TypeSpec } from '../../src/types/type-spec.ts'
import { addressCodec } from './address-codec.ts'

const classes = [
  { number: 1_000_000 as ClassNumber, name: 'Fleet.Vehicle', isReferenceable: true },
  { number: 1_000_001 as ClassNumber, name: 'Fleet.Address', isReferenceable: false },
]
const attributes = [{ number: 7 as AttributeNumber, name: 'owner' }]

/** Knows Fleet.Vehicle (referenceable, with an attribute owner) and Fleet.Address (embeddable). */
export const defineContext: DefineContext = {
  resolveClass(text) {
    const found = classes.find(({ name, number }) => name === text || String(number) === text)
    if (found === undefined) throw new AshlarError('UnknownClass', `There is no class ${text}.`)
    return found
  },
  resolveAttribute(classNumber, attributeName) {
    const found = attributes.find(({ name }) => name === attributeName)
    if (found !== undefined && classNumber === 1_000_000) return found.number
    throw new AshlarError('UnknownAttribute', `There is no attribute ${attributeName}.`)
  },
}

export const describeContext: DescribeContext = {
  className: (number) => classes.find((known) => known.number === number)?.name ?? '?',
  attributeName: (number) => attributes.find((known) => known.number === number)?.name ?? '?',
  attributeNameIn: (_cls, number) => attributes.find((known) => known.number === number)?.name ?? '?',
}

const codecContext: CodecContext = {
  embedded(classNumber) {
    expect(classNumber).toBe(1_000_001)
    return addressCodec
  },
}

/** The definition is read as that of a request. */
export function defined(definition: object): TypeSpec {
  return defineType(readAttribute({ attributeName: 'a', ...definition }, [], 'C').type, defineContext)
}

export function codecOf(definition: object): Codec {
  return codecFor(defined(definition), codecContext)
}

export function bytesOf(codec: Codec, value: unknown): Buffer {
  const writer = new ByteWriter(1)
  codec.write(value, writer)
  return writer.copy()
}

/** The JSON text of stored bytes, read from amid others. */
export function jsonTextOf(codec: Codec, bytes: Buffer): string {
  const around = Buffer.alloc(3, 0xa5)
  const json = new JsonWriter()
  codec.writeJson(Buffer.concat([around, bytes, around]), 3, 3 + bytes.length, json)
  return json.to.copy().toString('utf8')
}

export function keyOf(codec: Codec, value: unknown): Buffer {
  const key = new KeyWriter()
  if (value === null) key.null()
  else codec.key?.write(value, key)
  return key.to.copy()
}

/** Like JSON.stringify, but exact for bigints. */
export function exactJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (value instanceof JsonValue) return value.text
  if (Object.is(value, -0)) return '-0'
  if (Array.isArray(value)) return `[${value.map(exactJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([name, part]) => `${JSON.stringify(name)}:${exactJson(part)}`)
    .join(',')}}`
}

/** From JSON in to JSON out, through bytes, with all forms agreeing. */
export function storedText(definition: JsonObject, json: unknown): string {
  const codec = codecOf(definition)
  const value = codec.parse(json)
  const bytes = bytesOf(codec, value)
  if (codec.fixedBytes !== undefined) expect(bytes.length).toBe(codec.fixedBytes)
  expect(codec.read(Buffer.concat([Buffer.of(1, 2), bytes]), 2, 2 + bytes.length)).toEqual(value)
  return jsonTextOf(codec, bytes)
}

export function thrownBy(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  return undefined
}

export interface Refusal {
  readonly type: ValueError['type'] | 'MalformedRequest'
  /** Where within what was given, joined by dots. */
  readonly path?: string
  /** Words that the message has to have. */
  readonly words?: string
}

function expectRefusal(act: () => unknown, { type, path = '', words = '' }: Refusal, given?: unknown): void {
  const error = thrownBy(act)
  if (!(error instanceof ValueError || error instanceof AshlarError)) expect.fail(`not refused: ${exactJson(given)}`)
  const steps = error instanceof ValueError ? error.path : error.errors[0]?.place
  expect({ type: error.type, path: steps?.join('.') }, error.message).toEqual({ type, path })
  expect(error.message).toContain(words)
  expect(error.message.length).toBeLessThan(250)
}

export function expectValueRefused(definition: JsonObject, json: unknown, refusal: Refusal): void {
  const codec = codecOf(definition)
  expectRefusal(() => codec.parse(json), refusal, json)
}

export function expectDefinitionRefused(definition: JsonObject, refusal: Refusal): void {
  expectRefusal(() => defined(definition), refusal, definition)
}

/** What a schema read shows of a definition; it defines the same type again. */
export function described(definition: JsonObject): TypeDefinition {
  const spec = defined(definition)
  const shown = describeType(spec, describeContext)
  expect(defineType(shown, defineContext)).toEqual(spec)
  return shown
}
