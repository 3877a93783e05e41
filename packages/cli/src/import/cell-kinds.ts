/** Recognizes numbers, dates and times in common notations, and converts them to the notation of the server. */

/** Bits for the types that represent a value with all its digits. */
export const kindBits = {
  boolean: 1,
  integer: 2,
  unsigned: 4,
  real: 8,
  date: 16,
  datetime: 32,
  instant: 64,
  time: 128,
  guid: 256,
} as const

export const numberBits = kindBits.integer | kindBits.unsigned | kindBits.real
const naturalBits = numberBits
const negativeBits = kindBits.integer | kindBits.real

const shortInteger = /^-?[1-9]\d{0,14}$/
const numberForm = /^([+-]?)(\d*)(?:(\.)(\d*))?(?:[eE]([+-]?\d+))?$/
/** The longest decimal form of a double has fewer characters. */
const numberCharactersMax = 340
/** The nearest double of a decimal with up to this many digits preserves all of them, within the exponents of normal doubles. */
const exactDigitsMax = 15
const smallestNormal = 2 ** -1022
/** A longer integer with a plus sign is treated as a telephone number, whose plus sign an integer would drop. */
const signedDigitsMax = 6
const [b64Min, b64Max, u64Max] = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 64n - 1n]

/** `isTyped`: the text is a JSON string, in which numbers and booleans are not recognized. 0: only a string can represent it. */
export function kindsOfText(raw: string, isTyped: boolean): number {
  if (!isTyped && shortInteger.test(raw)) return raw.charCodeAt(0) === 0x2d ? negativeBits : naturalBits
  const text = raw.trim()
  const first = text.charCodeAt(0)
  const isDigit = first >= 0x30 && first <= 0x39
  if (!isTyped && (isDigit || first === 0x2b || first === 0x2d || first === 0x2e)) {
    const numbers = kindsOfNumber(text)
    if (numbers !== 0) return numbers
  }
  if (isDigit) {
    const moment = parseMoment(text)
    if (moment !== undefined) return moment.kinds
  }
  if (guidForm.test(text)) return kindBits.guid
  return !isTyped && /^(true|false)$/i.test(text) ? kindBits.boolean : 0
}

const guidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Returns 0 if the text is not a number, or no type preserves its digits. */
export function kindsOfNumber(text: string): number {
  const match = text.length > numberCharactersMax ? null : numberForm.exec(text)
  if (match === null) return 0
  const [, sign = '', integerPart = '', point, fraction = '', exponent] = match
  // A number with leading zeros is treated as a code.
  if (integerPart + fraction === '' || /^0\d/.test(integerPart)) return 0
  if (point !== undefined || exponent !== undefined)
    return isExactReal(text, integerPart + fraction) ? kindBits.real : 0
  if (sign === '+' && integerPart.length > signedDigitsMax) return 0
  if (sign === '-' && integerPart === '0') return kindBits.real
  const value = BigInt(sign + integerPart)
  const isSigned = value >= b64Min && value <= b64Max
  return (
    (isSigned ? kindBits.integer : 0) |
    (value >= 0n && value <= u64Max ? kindBits.unsigned : 0) |
    (String(Number(value)) === String(value) ? kindBits.real : 0)
  )
}

/** Returns true if the nearest double, written with the same number of digits, has the same digits. */
export function isExactReal(text: string, digits: string): boolean {
  const value = Number(text)
  if (!Number.isFinite(value)) return false
  const significant = digits.replace(/^0+/, '').replace(/0+$/, '')
  if (significant === '') return true
  if (Math.abs(value) >= smallestNormal && significant.length <= exactDigitsMax) return true
  if (value === 0 || significant.length > 100) return false
  const absolute = Math.abs(value)
    .toPrecision(significant.length)
    .replace(/e.*$/, '')
    .replace('.', '')
    .replace(/^0+/, '')
    .replace(/0+$/, '')
  return absolute === significant
}

/** Converts `.25`, `7.`, `+1` and `007.5` to JSON numbers, the only notation that the server accepts. Returns any other text unchanged. */
export function normalizeCellNumber(raw: string): string {
  const text = raw.trim()
  if (!/^[+.]|^-\.|^-?0\d|\.(?!\d)/.test(text)) return text
  const match = numberForm.exec(text)
  if (match === null || `${match[2]}${match[4] ?? ''}` === '') return text
  const [, sign = '', integerPart = '', , fraction = '', exponent] = match
  const digits = integerPart.replace(/^0+(?=\d)/, '') || '0'
  return `${sign === '-' ? '-' : ''}${digits}${fraction === '' ? '' : `.${fraction}`}${exponent === undefined ? '' : `e${exponent}`}`
}

interface Moment {
  readonly kinds: number
  /** In the notation of the server. */
  readonly text: string
  /** Whether the fraction of a second has digits that are not stored. */
  readonly isTruncated: boolean
}

const momentForm =
  /^(\d{4})([-/])(\d{1,2})\2(\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?(?: ?(?:(Z)|([+-])(\d{2})(?::?(\d{2}))?))?)?$/
const timeForm = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?$/
const offsetMinutesMax = 14 * 60

/** Parses a date, a time of day, or both; returns undefined for other texts. */
export function parseMoment(text: string): Moment | undefined {
  const time = timeForm.exec(text)
  if (time !== null) {
    const [, hours = '', minutes = '', seconds, fraction] = time
    // `3:45` is more likely a score or a ratio.
    if (hours.length === 1 && seconds === undefined) return undefined
    const clock = clockOf(hours, minutes, seconds, fraction)
    return clock === undefined ? undefined : { kinds: kindBits.time, text: clock, isTruncated: isTruncated(fraction) }
  }
  const match = momentForm.exec(text)
  if (match === null) return undefined
  const [, year = '', , month = '', day = '', hours, minutes = '', seconds, fraction] = match
  if (!isDay(Number(year), Number(month), Number(day))) return undefined
  const date = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
  if (hours === undefined) return { kinds: kindBits.date | kindBits.datetime, text: date, isTruncated: false }
  const clock = clockOf(hours, minutes, seconds, fraction)
  const [zulu, sign, offsetHours, offsetMinutes = '00'] = match.slice(9)
  if (clock === undefined || !isOffset(offsetHours ?? '00', offsetMinutes)) return undefined
  const offset = zulu ?? (sign === undefined ? '' : `${sign}${offsetHours}:${offsetMinutes}`)
  const kinds = offset === '' ? kindBits.datetime : kindBits.instant
  return { kinds, text: `${date}T${clock}${offset}`, isTruncated: isTruncated(fraction) }
}

function clockOf(hours: string, minutes: string, seconds = '00', fraction?: string): string | undefined {
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined
  return `${hours.padStart(2, '0')}:${minutes}:${seconds}${fraction === undefined ? '' : `.${fraction}`}`
}

function isDay(year: number, month: number, day: number): boolean {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false
  // Day 0 of the next month is the last day of this one. Adding 400 years keeps the calendar, and avoids years that Date maps to the 20th century.
  return day <= new Date(Date.UTC(year + 400, month, 0)).getUTCDate()
}

function isOffset(hours: string, minutes: string): boolean {
  return Number(minutes) < 60 && Number(hours) * 60 + Number(minutes) <= offsetMinutesMax
}

/** The server stores multiples of 100 µs. */
function isTruncated(fraction: string | undefined): boolean {
  return fraction !== undefined && /[1-9]/.test(fraction.slice(4))
}

const nearNumber = /^[-+(]?\s?(?:[$€£¥]|[A-Z]{3} )?[-+]?\s?\d[\d.,'’\s]*(?:[eE][+-]?\d+)?\s?(?:%|[$€£¥]|[A-Z]{3})?\)?$/

/** Matches `1,234`, `10%`, `$5`, and numbers beyond all types, but not codes with leading zeros. */
export function looksLikeNumber(text: string): boolean {
  return nearNumber.test(text.trim()) && !hasLeadingZero(text)
}

export function hasLeadingZero(text: string): boolean {
  return /^\s*[+-]?0\d/.test(text)
}

/** Returns true for a number with separators of thousands, which `decimal` in a mapping can parse. */
export function hasGroups(text: string): boolean {
  return /^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$/.test(text.trim())
}
