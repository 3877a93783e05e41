/** CAST: a value as one of another type (docs/query-language.md, Operators). A text that is no such value gives null. */
import { ticksPerDay, ticksPerSecond } from '../../types/calendar.ts'
import { isWithinYears, type OffsetDateTime } from '../../types/datetime.ts'
import { ValueError } from '../../types/logical-type.ts'
import type { TypeExpression } from '../language/ast.ts'
import { valueOfText } from '../values/coerce.ts'
import type { TextFormats } from '../values/text-format.ts'
import { scalarCodec } from '../values/value-json.ts'
import {
  isReference,
  isText,
  type ScalarKind,
  type ScalarType,
  type ValueType,
  wordOfType,
} from '../values/value-type.ts'
import { type Whole, wholeOf } from './whole-number.ts'

const words: Readonly<Record<string, ScalarKind>> = {
  boolean: 'boolean',
  character: 'character',
  integer: 'integer',
  real: 'real',
  float: 'real',
  guid: 'guid',
  string: 'string',
  date: 'date',
  time: 'time',
  datetime: 'datetime',
  datetimeoffset: 'datetimeoffset',
  interval: 'interval',
}

/** Undefined for a name that is no logical type of single values, and so may be a class. */
export function castTarget(type: TypeExpression): ScalarType | undefined {
  const word = type.name.toLowerCase()
  const kind = Object.hasOwn(words, word) ? words[word] : undefined
  if (kind === undefined) return undefined
  const storage = type.settings.find(({ name }) => name.toLowerCase() === 'storage')?.value
  const isSingle =
    storage === undefined ? word === 'float' : typeof storage === 'object' && storage.name.toLowerCase() === 'b32'
  return kind === 'real' && isSingle ? { kind, isSingle: true } : { kind }
}

/** Types as CAST takes them, for near names. */
export const castTypes: readonly string[] = Object.keys(words).map((word) => wordOfType(word))

type Convert = (value: unknown) => unknown

/** Undefined where there is no way from one to the other. */
export function castFor(from: ValueType, to: ScalarType, formats: TextFormats): Convert | undefined {
  if (to.kind === 'real' && (from.kind === 'integer' || from.kind === 'real')) {
    return to.isSingle === true ? (value) => Math.fround(Number(value)) : Number
  }
  if (from.kind === to.kind) return (value) => value
  if (to.kind === 'string') return toText(from)
  if (isText(from)) return (value) => fromText(value as string, to, formats)
  switch (to.kind) {
    case 'integer':
      if (from.kind === 'real') return (value) => truncated(value as number)
      return from.kind === 'boolean' ? (value) => (value === true ? 1 : 0) : undefined
    case 'boolean':
      return from.kind === 'integer' ? (value) => Number(value as Whole) !== 0 : undefined
    case 'date':
      return fromMoment(from, (ticks) => Math.floor(ticks / ticksPerDay))
    case 'time':
      return fromMoment(from, (ticks) => ticks - Math.floor(ticks / ticksPerDay) * ticksPerDay)
    case 'datetime':
      if (from.kind === 'date') return (value) => (value as number) * ticksPerDay
      return from.kind === 'datetimeoffset' ? (value) => inUtc(value as OffsetDateTime) : undefined
    case 'datetimeoffset':
      if (from.kind === 'date') return (value) => ({ ticks: (value as number) * ticksPerDay, offsetMinutes: 0 })
      return from.kind === 'datetime' ? (value) => ({ ticks: value as number, offsetMinutes: 0 }) : undefined
    default:
      return undefined
  }
}

/** Null beyond the years that a datetime without an offset has. */
function inUtc({ ticks }: OffsetDateTime): unknown {
  return isWithinYears(ticks) ? ticks : null
}

function truncated(value: number): unknown {
  if (!Number.isFinite(value)) return null
  return wholeOf(BigInt(Math.trunc(value))) ?? null
}

function toText(from: ValueType): Convert | undefined {
  if (isText(from) || isReference(from) || from.kind === 'guid') return (value) => value
  if (from.kind === 'integer' || from.kind === 'boolean') return String
  if (from.kind === 'real') return (value) => String(scalarCodec(from as ScalarType).toJson(value))
  const isScalar = ['date', 'time', 'datetime', 'datetimeoffset', 'interval'].includes(from.kind)
  return isScalar ? scalarCodec(from as ScalarType).toJson : undefined
}

function fromText(text: string, to: ScalarType, formats: TextFormats): unknown {
  try {
    const value = valueOfText(to, text.trim(), formats)
    return to.isSingle === true ? Math.fround(value as number) : value
  } catch (error) {
    if (error instanceof ValueError) return null
    throw error
  }
}

/** By the local clock of a value that has an offset. */
function fromMoment(from: ValueType, convert: (ticks: number) => number): Convert | undefined {
  if (from.kind === 'datetime') return (value) => convert(value as number)
  if (from.kind !== 'datetimeoffset') return undefined
  return (value) => {
    const { ticks, offsetMinutes } = value as OffsetDateTime
    return convert(ticks + offsetMinutes * 60 * ticksPerSecond)
  }
}
