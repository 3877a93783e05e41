/** What class records look like: an attribute a column, of the narrowest type that all values fit. */
import type { AttributeDefinition, ClassDescription } from '@ashlar/client'
import { CommandError } from '../../command-error.ts'
import { exitCodes } from '../../exit-codes.ts'
import { attributeNameOf } from './mapping.ts'
import type { Fields } from './records.ts'

type Definition = Omit<AttributeDefinition, 'attributeName'>

interface Kind {
  readonly definition: Definition
  fits(value: unknown): boolean
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

function isText(pattern: RegExp): (value: unknown) => boolean {
  return (value) => typeof value === 'string' && pattern.test(value.trim())
}

/** The narrowest first. */
const kinds: readonly Kind[] = [
  {
    definition: { logicalType: 'boolean' },
    fits: (value) => typeof value === 'boolean' || isText(/^(true|false)$/i)(value),
  },
  { definition: { logicalType: 'integer' }, fits: (value) => isInteger(value, b32Max) },
  { definition: { logicalType: 'integer', storage: 'b64' }, fits: (value) => isInteger(value, b64Max) },
  {
    definition: { logicalType: 'real' },
    fits: (value) =>
      typeof value === 'number' ||
      isText(/^[+-]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/)(value) ||
      isInteger(value, b64Max),
  },
  { definition: { logicalType: 'date' }, fits: isText(/^\d{4}[-/]\d{2}[-/]\d{2}$/) },
  {
    definition: { logicalType: 'datetime', storage: 'datetimeoffset' },
    fits: isText(/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)? ?(Z|[+-]\d{2}:?\d{2})$/),
  },
  { definition: { logicalType: 'datetime' }, fits: isText(/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$/) },
  { definition: { logicalType: 'time' }, fits: isText(/^\d{2}:\d{2}(:\d{2}(\.\d+)?)?$/) },
  { definition: { logicalType: 'guid' }, fits: isText(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i) },
]

const text: Definition = { logicalType: 'string' }

/** Throws CommandError where two columns would be one attribute. */
export function inferClass(className: string, records: readonly Fields[]): ClassDescription {
  const columns = [...new Set(records.flatMap((fields) => Object.keys(fields)))].filter(
    (name) => !name.startsWith('__'),
  )
  const attributes = columns.map((column) => {
    const values = records.map((fields) => fields[column]).filter((value) => value !== null && value !== undefined)
    return { attributeName: attributeNameOf(column), ...definitionOf(values) }
  })
  const names = attributes.map(({ attributeName }) => attributeName)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice === undefined) return { className, isReferenceable: true, attributes }
  throw new CommandError(
    exitCodes.usage,
    `Two columns would be the attribute ${twice}: name their attributes by --mapping.`,
  )
}

function definitionOf(values: readonly unknown[]): Definition {
  if (values.length === 0) return text
  if (values.every(Array.isArray)) return { logicalType: 'list', elementSpecification: definitionOf(values.flat()) }
  return kinds.find(({ fits }) => values.every(fits))?.definition ?? text
}
