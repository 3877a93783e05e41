/** What classes records look like: an attribute a column, of the narrowest type that all values fit. */
import type { AttributeDefinition, ClassDescription } from '@ashlar/client'
import { inferredDepthMax } from '../../../limits.ts'
import { CommandError } from '../../command-error.ts'
import { exitCodes } from '../../exit-codes.ts'
import { firstTwice } from './csv-faults.ts'
import { type Definition, type Fields, fieldOf } from './file-record.ts'
import { attributeNameOf } from './mapping.ts'

interface Kind {
  readonly definition: Definition
  /** A text that stands for it in a cell; where values have types of their own it is a text. */
  readonly text?: (text: string) => boolean
  /** A value of JSON. */
  readonly value?: (value: unknown) => boolean
}

const digits = /^[+-]?(0|[1-9]\d{0,18})$/
const b32Max = 2n ** 31n
const b64Max = 2n ** 63n

function isInteger(value: unknown, max: bigint): boolean {
  if (typeof value !== 'bigint' && typeof value !== 'number' && typeof value !== 'string') return false
  const text = String(value).trim()
  // Leading zeros tell of codes, which are no numbers.
  if (!digits.test(text)) return false
  const number = BigInt(text)
  return number >= -max && number < max
}

function matches(pattern: RegExp): (text: string) => boolean {
  return (text) => pattern.test(text.trim())
}

function isText(pattern: RegExp): (value: unknown) => boolean {
  return (value) => typeof value === 'string' && pattern.test(value.trim())
}

function isNumber(value: unknown, fits: (value: unknown) => boolean): boolean {
  return typeof value !== 'string' && fits(value)
}

const isB32 = (value: unknown): boolean => isInteger(value, b32Max)
const isB64 = (value: unknown): boolean => isInteger(value, b64Max)
const real = /^[+-]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/
const zoned = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)? ?(Z|[+-]\d{2}:?\d{2})$/

/** The narrowest first. Dates, times and GUIDs are texts in JSON, too. */
const kinds: readonly Kind[] = [
  {
    definition: { logicalType: 'boolean' },
    text: matches(/^(true|false)$/i),
    value: (value) => typeof value === 'boolean',
  },
  { definition: { logicalType: 'integer' }, text: isB32, value: (value) => isNumber(value, isB32) },
  {
    definition: { logicalType: 'integer', storage: 'b64' },
    text: isB64,
    value: (value) => isNumber(value, isB64),
  },
  {
    definition: { logicalType: 'real' },
    text: (text) => matches(real)(text) || isB64(text),
    value: (value) => typeof value === 'number' || isNumber(value, isB64),
  },
  { definition: { logicalType: 'date' }, value: isText(/^\d{4}[-/]\d{2}[-/]\d{2}$/) },
  { definition: { logicalType: 'datetime', storage: 'datetimeoffset' }, value: isText(zoned) },
  { definition: { logicalType: 'datetime' }, value: isText(/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$/) },
  { definition: { logicalType: 'time' }, value: isText(/^\d{2}:\d{2}(:\d{2}(\.\d+)?)?$/) },
  { definition: { logicalType: 'guid' }, value: isText(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i) },
]

const string: Definition = { logicalType: 'string' }

export interface Sample {
  /** Attributes of objects. */
  readonly records: readonly Fields[]
  /** Whether all values are texts, as those of CSV are: then what looks like a number is one. */
  readonly areTexts: boolean
  /** Attributes whose types are known. */
  readonly known: ReadonlyMap<string, Definition>
  /** Of attributes, as the file has their columns; objects have names that look like numbers first. Others follow. */
  readonly order: readonly string[]
}

/**
 * The class, behind those of its embedded objects, which are named after the class and the attribute: `OrderAddress`. Throws CommandError where two
 * columns would be one attribute.
 */
export function inferClasses(className: string, sample: Sample): readonly ClassDescription[] {
  const embedded: ClassDescription[] = []
  const attributes = attributesOf(className, sample.records, sample, embedded)
  return [...embedded, { className, isReferenceable: true, attributes }]
}

function attributesOf(
  className: string,
  records: readonly Fields[],
  { areTexts, known, order }: Omit<Sample, 'records'>,
  embedded: ClassDescription[],
  depth = 0,
): AttributeDefinition[] {
  const all = new Set([...records.flatMap((fields) => Object.keys(fields)), ...known.keys()])
  const columns = new Set([...order.filter((name) => all.has(name)), ...all])
  const attributes = [...columns].flatMap((column) => {
    if (column.startsWith('__')) return []
    const values = records
      .map((fields) => fieldOf(fields, column))
      .filter((value) => value !== null && value !== undefined)
    const name = attributeNameOf(column)
    return [
      {
        attributeName: name,
        ...(known.get(column) ?? definitionOf(className, name, values, { areTexts, embedded, depth: depth + 1 })),
      },
    ]
  })
  const names = attributes.map(({ attributeName }) => attributeName)
  const twice = firstTwice(names)
  if (twice === undefined) return attributes
  throw new CommandError(
    exitCodes.usage,
    `Two columns would be the attribute ${twice}: name their attributes by --mapping.`,
  )
}

interface Place {
  readonly areTexts: boolean
  readonly embedded: ClassDescription[]
  /** From 1. */
  readonly depth: number
}

function definitionOf(
  className: string,
  attribute: string,
  values: readonly unknown[],
  { areTexts, embedded, depth }: Place,
): Definition {
  if (values.length === 0) return string
  if (depth > inferredDepthMax)
    throw new CommandError(
      exitCodes.invalid,
      `The records have objects or arrays more than ${inferredDepthMax} deep, at ${className}.${attribute}, for which no class can be made.`,
    )
  if (values.every(Array.isArray)) {
    const elements = values.flat().filter((value) => value !== null)
    return {
      logicalType: 'list',
      elementSpecification: definitionOf(className, attribute, elements, { areTexts, embedded, depth: depth + 1 }),
    }
  }
  if (values.every(isObject)) {
    const name = `${className}${attribute.charAt(0).toUpperCase()}${attribute.slice(1)}`
    // Behind those that are embedded in it.
    const inner = attributesOf(name, values, { areTexts: false, known: new Map(), order: [] }, embedded, depth)
    embedded.push({ className: name, isReferenceable: false, attributes: inner })
    return { logicalType: 'object', class: name }
  }
  return kinds.find((kind) => values.every((value) => fits(kind, value, areTexts)))?.definition ?? string
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function fits({ text, value: ofJson }: Kind, value: unknown, areTexts: boolean): boolean {
  if (areTexts && typeof value === 'string' && text !== undefined) return text(value)
  return ofJson?.(value) === true
}
