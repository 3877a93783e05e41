/** Date and time functions. Weeks follow ISO 8601: they begin on Monday. */
import { formatDay, parseDay, ticksPerDay, ticksPerSecond } from '../../types/calendar.ts'
import { monthNames } from '../values/text-format.ts'
import { integerType, realType, stringType } from '../values/value-type.ts'
import type { FunctionDefinition } from './function-definition.ts'

const dayNames = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']

/** 1 = Monday; 0001-01-01 was a Monday. */
function dayOfWeek(days: number): number {
  return (days % 7) + 1
}

function partOf(days: number, part: 0 | 1 | 2): number {
  return Number(formatDay(days).split('-')[part])
}

/** ISO week number: a week belongs to the year of its Thursday. */
function week(days: number): number {
  const thursday = days + 4 - dayOfWeek(days)
  const firstOfYear = parseDay(`${formatDay(Math.max(0, thursday)).slice(0, 4)}-01-01`) as number
  return Math.floor((thursday - firstOfYear) / 7) + 1
}

function dayFunction(calculate: (days: number) => number): FunctionDefinition {
  return { operands: ['day'], result: integerType, calculate }
}

function clockFunction(calculate: (seconds: number) => number): FunctionDefinition {
  const inSeconds = (ticks: number): number => calculate(Math.floor(ticks / ticksPerSecond))
  return { operands: ['clock'], result: integerType, calculate: inSeconds }
}

/** Days from 0001-01-01 to 1970-01-01. */
const epochDays = parseDay('1970-01-01') as number

export const dateFunctions: Readonly<Record<string, FunctionDefinition>> = {
  DAY_NAME: { operands: ['day'], result: stringType, calculate: (days: number) => dayNames[dayOfWeek(days) - 1] },
  DAY_OF_MONTH: dayFunction((days) => partOf(days, 2)),
  DAY_OF_WEEK: dayFunction(dayOfWeek),
  MONTH: dayFunction((days) => partOf(days, 1)),
  MONTH_NAME: { operands: ['day'], result: stringType, calculate: (days: number) => monthNames[partOf(days, 1) - 1] },
  WEEK: dayFunction(week),
  YEAR: dayFunction((days) => partOf(days, 0)),
  EPOCH: {
    operands: ['moment'],
    result: realType,
    calculate: (ticks: number) => (ticks - epochDays * ticksPerDay) / ticksPerSecond,
  },
  HOUR: clockFunction((seconds) => Math.floor(seconds / 3_600)),
  MINUTE: clockFunction((seconds) => Math.floor(seconds / 60) % 60),
  SECOND: clockFunction((seconds) => seconds % 60),
}

export const truncationUnits = ['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second'] as const
type TruncationUnit = (typeof truncationUnits)[number]

const ticksOfUnit: Readonly<Partial<Record<TruncationUnit, number>>> = {
  day: ticksPerDay,
  hour: 3_600 * ticksPerSecond,
  minute: 60 * ticksPerSecond,
  second: ticksPerSecond,
}

/** Start of the unit that contains the moment, in ticks since 0001-01-01. */
export function truncateMoment(unit: TruncationUnit, ticks: number): number {
  const size = ticksOfUnit[unit]
  return size === undefined
    ? truncateDay(unit, Math.floor(ticks / ticksPerDay)) * ticksPerDay
    : Math.floor(ticks / size) * size
}

/** First day of the year, quarter, month or week; the day itself for shorter units. */
export function truncateDay(unit: TruncationUnit, days: number): number {
  const [year, month] = formatDay(days).split('-') as [string, string]
  switch (unit) {
    case 'year':
      return parseDay(`${year}-01-01`) as number
    case 'quarter': {
      const first = Math.floor((Number(month) - 1) / 3) * 3 + 1
      return parseDay(`${year}-${String(first).padStart(2, '0')}-01`) as number
    }
    case 'month':
      return parseDay(`${year}-${month}-01`) as number
    case 'week':
      return days + 1 - dayOfWeek(days)
    default:
      return days
  }
}
