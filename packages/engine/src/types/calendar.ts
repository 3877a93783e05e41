/** The proleptic Gregorian calendar and the clock, in whole days and in ticks of 100 µs. */

export const ticksPerSecond = 10_000
export const ticksPerDay = 86_400 * ticksPerSecond
/** Days of the years 1 to 9999. */
export const daysMax = 3_652_059

/** Days since 0001-01-01. */
function dayNumber(year: number, month: number, day: number): number {
  // Years begin in March, so that the leap day is the last day of a year.
  const y = month <= 2 ? year - 1 : year
  const m = month <= 2 ? month + 9 : month - 3
  const days =
    365 * y + Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400) + Math.floor((153 * m + 2) / 5) + day
  return days - 307
}

/** Undefined if the day does not exist. */
function checkedDay(year: number, month: number, day: number): number | undefined {
  if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined
  return dayNumber(year, month, day)
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** For example `2024-02-29`. */
export function formatDay(days: number): string {
  const z = days + 306
  const era = Math.floor(z / 146_097)
  const dayOfEra = z - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const m = Math.floor((5 * dayOfYear + 2) / 153)
  const day = dayOfYear - Math.floor((153 * m + 2) / 5) + 1
  const month = m < 10 ? m + 3 : m - 9
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  return `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`
}

/** For example `08:05:09.25`: always with seconds, and with as many fractional digits as needed. */
export function formatTime(ticks: number): string {
  const seconds = Math.floor(ticks / ticksPerSecond)
  return `${two(Math.floor(seconds / 3_600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}${formatFraction(ticks % ticksPerSecond)}`
}

/** For example `.25`, or an empty string: the ticks within a second. */
export function formatFraction(ticks: number): string {
  return ticks === 0 ? '' : `.${String(ticks).padStart(4, '0').replace(/0+$/, '')}`
}

/** Ticks of the digits of a fraction; digits beyond 100 µs are truncated. */
export function fractionTicks(digits: string | undefined): number {
  return digits === undefined ? 0 : Number(digits.slice(0, 4).padEnd(4, '0'))
}

const timeForm = /^(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?$/
const dayForm = /^(\d{4})([-/])(\d{2})\2(\d{2})$/

/** Ticks since midnight; undefined if the text is not a time of day. */
export function parseTime(text: string): number | undefined {
  const match = timeForm.exec(text)
  if (match === null) return undefined
  const [hours, minutes, seconds] = [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)]
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined
  return ((hours * 60 + minutes) * 60 + seconds) * ticksPerSecond + fractionTicks(match[4])
}

/** Days since 0001-01-01; undefined if the text is not a date. */
export function parseDay(text: string): number | undefined {
  const match = dayForm.exec(text)
  return match === null ? undefined : checkedDay(Number(match[1]), Number(match[3]), Number(match[4]))
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
