/** Dates, times and datetimes in queries: moments are compared as instants and shifted by intervals. */
import { ticksPerDay, ticksPerSecond } from '../../../types/calendar.ts'
import { isWithinYears, type OffsetDateTime, withoutOffset } from '../../../types/datetime.ts'
import type { OperatorName } from '../../language/operators.ts'
import { type FormattedKind, parseFormatted, type TextFormats } from '../text-format.ts'
import type { ScalarKind, ScalarType } from '../value-type.ts'
import {
  type Arithmetic,
  apart,
  type ByKind,
  type Compare,
  type ConvertScalar,
  codecOf,
  comparePlain,
  type ScalarDefinition,
  sameKind,
} from './scalar-kind.ts'

type Codec = ReturnType<typeof codecOf>
type MomentKind = 'date' | 'datetime' | 'datetimeoffset'

const intervalType: ScalarType = { kind: 'interval' }
const yearTicksMax = 3_652_059 * ticksPerDay

const dateCodec = codecOf({ logicalType: 'date' })
const timeCodec = codecOf({ logicalType: 'time' })
const datetimeCodec = codecOf({ logicalType: 'datetime', storage: 'datetime' })
const datetimeoffsetCodec = codecOf({ logicalType: 'datetime', storage: 'datetimeoffset' })

export const dateScalar: ScalarDefinition = {
  ...momentKind('date', 'date', dateCodec),
  compareWith: momentOrder('date'),
  castFrom: fromMoments((ticks) => Math.floor(ticks / ticksPerDay)),
}

export const timeScalar: ScalarDefinition = {
  ...momentKind('time', 'time', timeCodec),
  compareWith: { time: comparePlain },
  castFrom: fromMoments((ticks) => ticks - Math.floor(ticks / ticksPerDay) * ticksPerDay),
}

export const datetimeScalar: ScalarDefinition = {
  ...momentKind('datetime', 'datetime', datetimeCodec),
  compareWith: momentOrder('datetime'),
  // A datetime without an offset is in UTC.
  castFrom: { date: midnightOf, datetimeoffset: inUtc },
  coerceFrom: { date: midnightOf, datetimeoffset: (value) => withoutOffset(value as OffsetDateTime) },
}

export const datetimeoffsetScalar: ScalarDefinition = {
  ...momentKind('datetimeoffset', 'datetime', datetimeoffsetCodec),
  compareWith: momentOrder('datetimeoffset'),
  castFrom: withOffsets(),
  coerceFrom: withOffsets(),
}

/** The common part. `format`: the USE format by which texts are read. */
function momentKind(kind: ScalarKind, format: FormattedKind, codec: Codec): Omit<ScalarDefinition, 'compareWith'> {
  return {
    ...apart,
    codec,
    isLong: false,
    commonWith: sameKind,
    words: kind === 'datetimeoffset' ? [kind, 'instant'] : [kind],
    fromText: (text, formats) => codec.parse(inFormat(format, text, formats)),
    toText: (value) => codec.toJson(value) as string,
    toJson: codec.toJson,
    writeJson: (json, value) => json.ascii(`"${codec.toJson(value)}"`),
    writeKey: (value, writer) => codec.key.write(value, writer),
    arithmetic: temporal,
  }
}

function inFormat(kind: FormattedKind, text: string, formats: TextFormats): string {
  const format = formats[kind]
  return format === undefined ? text : parseFormatted(kind, text, format)
}

function isMoment(kind: ScalarKind): kind is MomentKind {
  return kind === 'date' || kind === 'datetime' || kind === 'datetimeoffset'
}

function momentOrder(kind: MomentKind): ByKind<Compare> {
  const compare = (other: MomentKind): Compare => {
    if (kind === other && kind !== 'datetimeoffset') return comparePlain
    const [toTicks, otherToTicks] = [ticksOf(kind), ticksOf(other)]
    return (a, b) => toTicks(a) - otherToTicks(b)
  }
  return { date: compare('date'), datetime: compare('datetime'), datetimeoffset: compare('datetimeoffset') }
}

/** In UTC ticks: a datetime without an offset is in UTC, and a date is its midnight. */
function ticksOf(kind: MomentKind): (value: unknown) => number {
  switch (kind) {
    case 'date':
      return (value) => (value as number) * ticksPerDay
    case 'datetime':
      return (value) => value as number
    case 'datetimeoffset':
      return (value) => (value as OffsetDateTime).ticks
  }
}

function midnightOf(days: unknown): unknown {
  return (days as number) * ticksPerDay
}

/** Null outside the years of a datetime without an offset. */
function inUtc(value: unknown): unknown {
  const { ticks } = value as OffsetDateTime
  return isWithinYears(ticks) ? ticks : null
}

function withOffsets(): ByKind<ConvertScalar> {
  return {
    date: (value) => ({ ticks: (value as number) * ticksPerDay, offsetMinutes: 0 }),
    datetime: (value) => ({ ticks: value as number, offsetMinutes: 0 }),
  }
}

/** Uses the local time of a value with an offset. */
function fromMoments(convert: (ticks: number) => number): ByKind<ConvertScalar> {
  return {
    datetime: (value) => convert(value as number),
    datetimeoffset: (value) => {
      const { ticks, offsetMinutes } = value as OffsetDateTime
      return convert(ticks + offsetMinutes * 60 * ticksPerSecond)
    },
  }
}

function temporal(operator: OperatorName, one: ScalarType, other: ScalarType): Arithmetic | undefined {
  if (other.kind === 'interval') return shifted(operator, one)
  if (one.kind !== 'interval') return operator === 'minus' ? difference(one, other) : undefined
  const swapped = operator === 'plus' ? shifted(operator, other) : undefined
  return swapped && { type: swapped.type, calculate: (a, b) => swapped.calculate(b, a) }
}

/** A date is shifted by whole days; a time of day wraps around at midnight. */
function shifted(operator: OperatorName, one: ScalarType): Arithmetic | undefined {
  if (operator !== 'plus' && operator !== 'minus') return undefined
  const sign = operator === 'plus' ? 1 : -1
  switch (one.kind) {
    case 'date':
      return {
        type: one,
        calculate: (days: number, ticks: number) => inYears(days + sign * Math.trunc(ticks / ticksPerDay), 1),
      }
    case 'time':
      return { type: one, calculate: (time: number, ticks: number) => modulo(time + sign * ticks, ticksPerDay) }
    case 'datetime':
      return { type: one, calculate: (at: number, ticks: number) => inYears(at + sign * ticks, ticksPerDay) }
    case 'datetimeoffset':
      return {
        type: one,
        calculate: (at: OffsetDateTime, by: number) => {
          const ticks = inYears(at.ticks + sign * by, ticksPerDay)
          return ticks === undefined ? undefined : { ticks, offsetMinutes: at.offsetMinutes }
        },
      }
    default:
      return undefined
  }
}

/** Undefined outside of the years 1 to 9999. */
function inYears(value: number, perDay: number): number | undefined {
  return value >= 0 && value < (yearTicksMax / ticksPerDay) * perDay ? value : undefined
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by
}

function difference(one: ScalarType, other: ScalarType): Arithmetic | undefined {
  const type = intervalType
  if (one.kind === 'time' && other.kind === 'time') return { type, calculate: (a: number, b: number) => a - b }
  if (!isMoment(one.kind) || !isMoment(other.kind)) return undefined
  const [a, b] = [ticksOf(one.kind), ticksOf(other.kind)]
  return { type, calculate: (from: unknown, to: unknown) => a(from) - b(to) + 0 }
}
