/** Random dates, times, instants and intervals, with their texts from the runtime's own calendar. */
import fc from 'fast-check'
import type { LogicalTypeName } from '../../src/types/type-spec.ts'
import { definitionOf, lower, type TypeSamples, word } from './sample.ts'

const dayMs = 86_400_000
const dayTicks = 864_000_000
const firstDay = Date.parse('0001-01-01T00:00:00Z') / dayMs
const lastDay = Date.parse('9999-12-31T00:00:00Z') / dayMs

/** Days since 1970, the first and last years often. */
const day = fc.oneof(
  fc.integer({ min: firstDay, max: lastDay }),
  fc.integer({ min: firstDay, max: firstDay + 800 }),
  fc.integer({ min: lastDay - 800, max: lastDay }),
  fc.integer({ min: 10_000, max: 25_000 }),
)
const dayText = (days: number) => new Date(days * dayMs).toISOString().slice(0, 10)

/** Ticks of 100 µs within a day. */
const clock = fc.oneof(
  fc.integer({ min: 0, max: dayTicks - 1 }),
  fc.nat(86_399).map((seconds) => seconds * 10_000),
)

function clockText(ticks: number): string {
  const seconds = new Date(Math.floor(ticks / 10_000) * 1_000).toISOString().slice(11, 19)
  return seconds + fraction(ticks % 10_000)
}

function fraction(ticks: number): string {
  return ticks === 0 ? '' : (ticks / 10_000).toFixed(4).slice(1).replace(/0+$/, '')
}

const date: TypeSamples = {
  definition: definitionOf('date', { encoding: word('objy') }),
  values: () =>
    fc.tuple(day, fc.boolean()).map(([rank, hasSlashes]) => {
      const text = dayText(rank)
      return { json: hasSlashes ? text.replaceAll('-', '/') : text, text: `"${text}"`, rank }
    }),
}

const time: TypeSamples = {
  definition: definitionOf('time', { encoding: word('objy') }),
  values: () =>
    fc.tuple(clock, fc.constantFrom('', '0', '99')).map(([rank, cut]) => {
      const text = clockText(rank)
      const digits = text.includes('.') ? text.padEnd(13, '0') + cut : text
      return { json: digits, text: `"${text}"`, rank }
    }),
}

/** Minutes, up to 14 hours to either side. */
const offset = fc.oneof(fc.integer({ min: -840, max: 840 }), fc.constantFrom(-840, 0, 60, 330, 840))

function offsetText(minutes: number): string {
  if (minutes === 0) return 'Z'
  const size = Math.abs(minutes)
  const [hours, rest] = [Math.floor(size / 60), size % 60].map((part) => String(part).padStart(2, '0'))
  return `${minutes < 0 ? '-' : '+'}${hours}:${rest}`
}

const datetime: TypeSamples = {
  definition: definitionOf('datetime', { encoding: word('objy'), storage: word('datetime', 'datetimeoffset') }),
  values(definition) {
    const hasOffset = lower(definition, 'storage', 'datetime') === 'datetimeoffset'
    const parts = fc.tuple(day, clock, offset, fc.constantFrom('T', ' '), fc.boolean())
    return parts.map(([days, ticks, minutes, separator, isBare]) => {
      const shownOffset = hasOffset ? offsetText(isBare ? 0 : minutes) : ''
      const text = `"${dayText(days)}T${clockText(ticks)}${shownOffset}"`
      const json = `${dayText(days)}${separator}${clockText(ticks)}${isBare ? '' : shownOffset}`
      const local = BigInt(days) * BigInt(dayTicks) + BigInt(ticks)
      const rank = hasOffset && !isBare ? local - BigInt(minutes) * 600_000n : local
      return { json, text, rank }
    })
  },
}

const interval: TypeSamples = {
  definition: definitionOf('interval', { encoding: word('objy') }),
  values: () =>
    fc.tuple(fc.oneof(fc.nat(4_999_999), fc.nat(3)), clock, fc.boolean()).map(([days, ticks, isNegative]) => {
      const seconds = Math.floor(ticks / 10_000)
      const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60]
      const shownSeconds = `${seconds % 60}${fraction(ticks % 10_000)}`
      const parts = [hours > 0 && `${hours}H`, minutes > 0 && `${minutes}M`, shownSeconds !== '0' && `${shownSeconds}S`]
      const clockPart = parts.filter(Boolean).join('')
      const isZero = days === 0 && ticks === 0
      const size = isZero ? 'PT0S' : `P${days > 0 ? `${days}D` : ''}${clockPart === '' ? '' : `T${clockPart}`}`
      const text = isNegative && !isZero ? `-${size}` : size
      const rank = BigInt(days) * BigInt(dayTicks) + BigInt(ticks)
      return { json: text, text: `"${text}"`, rank: isNegative ? -rank : rank }
    }),
}

export const temporalSamples = { date, time, datetime, interval } satisfies Partial<
  Record<LogicalTypeName, TypeSamples>
>
