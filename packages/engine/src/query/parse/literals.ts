/** Values of literals: numbers, dates and times. Undefined if out of range. */
import { parseDay, parseTime, ticksPerDay, ticksPerSecond } from '../../types/calendar.ts'
import { isHiddenFraction } from '../../types/hidden-fraction.ts'
import type { LiteralValue } from '../language/ast.ts'

const integerMax = 2n ** 64n - 1n
const offsetMinutesMax = 14 * 60

/** `42`, `0x1F`, `2.5e-3`: an integer unless it has a point or an exponent, or exceeds the range of integers. */
export function numberLiteral(text: string): LiteralValue | undefined {
  const isHexadecimal = /^0x/i.test(text)
  // BigInt() of a very long text would take noticeable time.
  const integer = (isHexadecimal || /^\d+$/.test(text)) && text.length <= 30 ? BigInt(text) : undefined
  if (isHexadecimal && (integer === undefined || integer > integerMax)) return undefined
  if (integer !== undefined && integer <= integerMax) {
    return { type: 'integer', value: integer <= Number.MAX_SAFE_INTEGER ? Number(integer) : integer }
  }
  const value = Number(text)
  if (!Number.isFinite(value)) return undefined
  return { type: 'real', value, digits: text, ...(isHiddenFraction(text) && { isFraction: true }) }
}

/** `2024-02-29`, `2024/2/29`. */
export function dateLiteral(text: string): LiteralValue | undefined {
  const value = dayOf(text)
  return value === undefined ? undefined : { type: 'date', value }
}

/** `08:05:09.25`, `3:11:22`. */
export function timeLiteral(text: string): LiteralValue | undefined {
  const value = ticksOf(text)
  return value === undefined ? undefined : { type: 'time', value }
}

/** `offset`: `Z` or `+05:30`. */
export function datetimeLiteral(date: string, time: string, offset: string | undefined): LiteralValue | undefined {
  const days = dayOf(date)
  const ticks = ticksOf(time)
  if (days === undefined || ticks === undefined) return undefined
  const local = days * ticksPerDay + ticks
  if (offset === undefined) return { type: 'datetime', value: local }
  const offsetMinutes = offset === 'Z' ? 0 : minutesOf(offset)
  if (offsetMinutes === undefined) return undefined
  return {
    type: 'datetimeoffset',
    value: { ticks: local - offsetMinutes * 60 * ticksPerSecond, offsetMinutes },
  }
}

function dayOf(text: string): number | undefined {
  const [year, month, day] = text.split(/[-/]/) as [string, string, string]
  return parseDay(`${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`)
}

function ticksOf(text: string): number | undefined {
  return parseTime(text.indexOf(':') === 1 ? `0${text}` : text)
}

function minutesOf(offset: string): number | undefined {
  const minutes = Number(offset.slice(4, 6))
  const total = Number(offset.slice(1, 3)) * 60 + minutes
  if (minutes > 59 || total > offsetMinutesMax) return undefined
  return offset.startsWith('-') && total > 0 ? -total : total
}
