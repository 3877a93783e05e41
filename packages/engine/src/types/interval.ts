/** The type interval: a signed duration in days and smaller units, to 100 µs. */

import { readKeyTicks } from '../bytes/key-reader.ts'
import { readDouble } from '../bytes/read-number.ts'
import { formatFraction, fractionTicks, ticksPerDay, ticksPerSecond } from './calendar.ts'
import { enumField, inField } from './definition-fields.ts'
import { type Codec, formatForMessage, type LogicalType, ValueError } from './logical-type.ts'
import { parseNumber } from './parse-number.ts'
import type { IntervalSpec } from './type-spec.ts'

const ticksMax = 5_000_000 * ticksPerDay
const ticksPerUnit = {
  days: ticksPerDay,
  hours: 3_600 * ticksPerSecond,
  minutes: 60 * ticksPerSecond,
  seconds: ticksPerSecond,
  milliseconds: ticksPerSecond / 1_000,
} as const
const form =
  /^([+-])?P(?:(\d{1,10})Y)?(?:(\d{1,10})M)?(?:(\d{1,10})W)?(?:(\d{1,10})D)?(?:T(?:(\d{1,12})H)?(?:(\d{1,12})M)?(?:(\d{1,12})(?:\.(\d+))?S)?)?$/

export const interval: LogicalType<IntervalSpec> = {
  logicalType: 'interval',
  fields: ['encoding'],
  define(definition) {
    enumField(definition, 'encoding', ['objy'], 'objy')
    return { logicalType: 'interval' }
  },
  describe: () => ({ logicalType: 'interval', encoding: 'objy' }),
  codec: () => codec,
}

const codec: Codec<number> = {
  fixedBytes: 8,
  isNullable: true,
  defaultValue: null,
  parse(json) {
    return bounded(typeof json === 'string' ? parseDuration(json) : parseParts(json), () => formatForMessage(json))
  },
  accept: (input) => bounded(input as number, () => formatDuration(input as number)),
  write: (value, to) => to.writeDouble(value),
  read: (bytes, start) => readDouble(bytes, start),
  writeJson: (bytes, start, end, json) => json.ascii(`"${formatDuration(codec.read(bytes, start, end))}"`),
  toJson: formatDuration,
  key: { form: 'eightBytes', write: (value, to) => to.ticks(value), read: readKeyTicks },
}

/** Throws ValueError. */
function bounded(ticks: number, format: () => string): number {
  if (Math.abs(ticks) <= ticksMax) return ticks === 0 ? 0 : ticks
  throw new ValueError('ValueNotAllowed', `${format()} is longer than 5,000,000 days`)
}

/** An ISO 8601 duration without years and months, whose length is not fixed. */
function parseDuration(text: string): number {
  const match = form.exec(text)
  const isEmpty = match === null || match.slice(2).every((part) => part === undefined) || text.endsWith('T')
  if (isEmpty) throw new ValueError('ValueNotAllowed', `${formatForMessage(text)} is not a duration such as P2DT30M`)
  const [, sign, years, months, weeks, days, hours, minutes, seconds, fraction] = match
  if (years !== undefined || months !== undefined) {
    throw new ValueError('ValueNotAllowed', `${formatForMessage(text)} has years or months, whose length is not fixed`)
  }
  const ticks =
    (Number(weeks ?? 0) * 7 + Number(days ?? 0)) * ticksPerDay +
    Number(hours ?? 0) * ticksPerUnit.hours +
    Number(minutes ?? 0) * ticksPerUnit.minutes +
    Number(seconds ?? 0) * ticksPerSecond +
    fractionTicks(fraction)
  return sign === '-' ? -ticks : ticks
}

/** For example `{"days":2,"minutes":30}`: numbers of either sign, including fractions. */
function parseParts(json: unknown): number {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new ValueError(
      'MalformedValue',
      `${formatForMessage(json)} is neither a duration such as P2DT30M nor an object of its parts`,
    )
  }
  let ticks = 0
  for (const [unit, input] of Object.entries(json)) {
    if (!Object.hasOwn(ticksPerUnit, unit)) {
      const error = new ValueError('UnknownField', `an interval has no part ${formatForMessage(unit)}`)
      error.path = [unit]
      throw error
    }
    const amount = inField(unit, () => parseNumber(input))
    ticks += ticksOf(amount, ticksPerUnit[unit as keyof typeof ticksPerUnit])
  }
  return Number.isFinite(ticks) ? Math.trunc(ticks) : Number.POSITIVE_INFINITY
}

/** 0.0003 s times 10,000 is slightly less than 3 ticks, and would be truncated to 2. */
function ticksOf(amount: number, perUnit: number): number {
  const ticks = amount * perUnit
  const nearest = Math.round(ticks)
  return Math.abs(ticks - nearest) <= Math.abs(ticks) * Number.EPSILON ? nearest : ticks
}

function formatDuration(ticks: number): string {
  const size = Math.abs(ticks)
  const days = Math.floor(size / ticksPerDay)
  let rest = size - days * ticksPerDay
  const hours = Math.floor(rest / ticksPerUnit.hours)
  rest -= hours * ticksPerUnit.hours
  const minutes = Math.floor(rest / ticksPerUnit.minutes)
  rest -= minutes * ticksPerUnit.minutes
  const seconds = Math.floor(rest / ticksPerSecond)
  const fraction = rest - seconds * ticksPerSecond
  const date = days === 0 ? '' : `${days}D`
  const clock = [
    hours === 0 ? '' : `${hours}H`,
    minutes === 0 ? '' : `${minutes}M`,
    seconds === 0 && fraction === 0 ? '' : `${seconds}${formatFraction(fraction)}S`,
  ].join('')
  if (date === '' && clock === '') return 'PT0S'
  return `${ticks < 0 ? '-' : ''}P${date}${clock === '' ? '' : `T${clock}`}`
}
