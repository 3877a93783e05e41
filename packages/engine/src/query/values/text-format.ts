/** USE … FORMAT: the format in which dates and times are read from texts (docs/query-language.md, Values). */
import { textFormatCharactersMax } from '../../limits.ts'
import { formatDay, parseDay, parseTime } from '../../types/calendar.ts'
import { ValueError } from '../../types/logical-type.ts'

export const monthNames = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]

export type FormattedKind = 'date' | 'time' | 'datetime'

/** One format per kind of value; they apply to reading, not to writing. */
export type TextFormats = Readonly<Record<FormattedKind, TextFormat | undefined>>

export interface TextFormat {
  /** The format as written in USE. */
  readonly written: string
  /** Matches a whole text; its groups are the fields, in order. */
  readonly pattern: RegExp
  readonly fields: readonly Field[]
}

export const noTextFormats: TextFormats = { date: undefined, time: undefined, datetime: undefined }

/** The part of a value that a field holds. `hourOfHalf`: 1 to 12; `half`: 0 before noon, 1 after. */
type Part =
  | 'year'
  | 'month'
  | 'day'
  | 'dayOfYear'
  | 'hour'
  | 'hourOfHalf'
  | 'half'
  | 'minute'
  | 'second'
  | 'fraction'
  | 'offset'

interface Field {
  readonly part: Part
  readonly pattern: string
  /** The pattern next to other digits, where the number of digits must be fixed. */
  readonly patternNextToDigit?: string
  /** The field begins and ends with a digit. */
  readonly isNumeric: boolean
  read(text: string): number | string
}

type Parts = Readonly<Partial<Record<Part, number | string>>>

function numeric(part: Part, pattern: string, read: (text: string) => number = Number): Field {
  return { part, pattern, isNumeric: true, read }
}

/** One or two digits, but exactly two next to another numeric field: `111` could be 11:1 or 1:11. */
function twoDigits(part: Part): Field {
  return { ...numeric(part, oneOrTwo), patternNextToDigit: '\\d{2}' }
}

const oneOrTwo = '\\d{1,2}'
const fraction: Field = { part: 'fraction', pattern: '\\d{1,9}', isNumeric: true, read: (text) => text }

/** A pattern that matches the letters in any case. */
function anyCase(text: string): string {
  return text.replace(/[a-z]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`)
}

const monthWords = [...monthNames, ...monthNames.map((name) => name.slice(0, 3))]
const monthName: Field = {
  part: 'month',
  pattern: monthWords.map(anyCase).join('|'),
  isNumeric: false,
  read: (text) => {
    return monthNames.findIndex((name) => name.slice(0, 3).toLowerCase() === text.slice(0, 3).toLowerCase()) + 1
  },
}

const firstYearOfTwoDigits = 69

/** The fields of strftime, by the letter after `%`. */
const percentFields: Readonly<Record<string, Field>> = {
  Y: numeric('year', '\\d{4}'),
  y: numeric('year', '\\d{2}', (text) => Number(text) + (Number(text) >= firstYearOfTwoDigits ? 1900 : 2000)),
  m: twoDigits('month'),
  d: numeric('day', oneOrTwo),
  e: numeric('day', ` ?${oneOrTwo}`),
  b: monthName,
  B: monthName,
  j: { ...numeric('dayOfYear', '\\d{1,3}'), patternNextToDigit: '\\d{3}' },
  H: twoDigits('hour'),
  I: twoDigits('hourOfHalf'),
  p: {
    part: 'half',
    pattern: anyCase('am|pm'),
    isNumeric: false,
    read: (text) => (text.toLowerCase() === 'pm' ? 1 : 0),
  },
  M: twoDigits('minute'),
  S: twoDigits('second'),
  f: fraction,
  z: {
    part: 'offset',
    pattern: 'Z|[+-]\\d{2}:?\\d{2}',
    isNumeric: false,
    read: (text) => (text === 'Z' ? text : `${text.slice(0, 3)}:${text.slice(-2)}`),
  },
}

/** The fields of formats without `%`. */
const letterFields: Readonly<Record<string, Field>> = {
  yyyy: numeric('year', '\\d{4}'),
  MM: twoDigits('month'),
  dd: numeric('day', oneOrTwo),
  HH: twoDigits('hour'),
  mm: twoDigits('minute'),
  ss: twoDigits('second'),
  f: fraction,
}

const percents = Object.keys(percentFields).map((letter) => `%${letter}`)
const percentWords = `${percents.join(' ')} and %%`
const letterWords = 'yyyy, MM, dd, HH, mm, ss and f, or of strftime’s with %'

/**
 * Parses a format: with strftime's fields if it contains `%`, otherwise with letters. Other characters are literal. A repeated field is refused,
 * since matching it could take exponential time. Throws ValueError.
 */
export function textFormat(kind: FormattedKind, written: string): TextFormat {
  if (written.length > textFormatCharactersMax)
    throw refused(`a format has at most ${textFormatCharactersMax} characters`)
  const piece = written.includes('%') ? /(%.?)/su : /(yyyy|YYYY|MM|dd|DD|HH|mm|ss|f+)/
  // Blanks around a text are ignored.
  const pieces = written.trim().split(piece)
  const fields: Field[] = []
  // split() places the captured fields at the odd indexes.
  const tokens = pieces.flatMap((text, i): (Field | string)[] => {
    if (i % 2 === 0 || text === '%%') return text === '' ? [] : [text === '%%' ? '%' : text]
    const field = fieldOf(text)
    if (field.part === 'offset' && kind !== 'datetime') throw refused(`%z is for DateTime: a ${kind} has no offset`)
    if (fields.includes(field)) throw refused(`a format has ${text} once`)
    fields.push(field)
    return [field]
  })
  const patterns = tokens.map((token, i) => patternOf(token, tokens[i - 1], tokens[i + 1]))
  if (fields.length === 0) throw refused(`a format has some of ${letterWords}`)
  return { written, pattern: new RegExp(`^\\s*${patterns.join('')}\\s*$`), fields }
}

function patternOf(token: Field | string, before: Field | string = '', after: Field | string = ''): string {
  if (typeof token === 'string') return escaped(token)
  const isNextToDigit =
    (typeof before === 'string' ? /\d$/.test(before) : before.isNumeric) ||
    (typeof after === 'string' ? /^\d/.test(after) : after.isNumeric)
  return `(${isNextToDigit ? (token.patternNextToDigit ?? token.pattern) : token.pattern})`
}

function fieldOf(piece: string): Field {
  const isLetter = !piece.startsWith('%')
  const name = isLetter ? piece.replace('YYYY', 'yyyy').replace('DD', 'dd').replace(/f+/, 'f') : piece.slice(1)
  const field = isLetter ? letterFields[name] : Object.hasOwn(percentFields, name) ? percentFields[name] : undefined
  if (field !== undefined) return field
  throw refused(`a format has no field ${piece}; there are ${percentWords}`)
}

/** Converts a text in the format to the default notation. Throws ValueError. */
export function parseFormatted(kind: FormattedKind, text: string, { written, pattern, fields }: TextFormat): string {
  const match = pattern.exec(text)
  if (match === null) throw refused(`'${text.slice(0, 60)}' is not written as ${written.slice(0, 60)}`)
  const parts = partsOf(fields.map((field, i) => [field.part, field.read(match[i + 1] as string)]))
  const date = parts && dateOf(parts)
  const time = parts && timeOf(parts)
  if (parts === undefined || date === undefined || time === undefined) {
    throw refused(`'${text.slice(0, 60)}', read as ${written.slice(0, 60)}, is no ${kind} that there is`)
  }
  if (kind === 'date') return date
  return kind === 'time' ? time : `${date}T${time}${parts.offset ?? ''}`
}

/** Undefined if two fields contradict each other. */
function partsOf(read: readonly (readonly [Part, number | string])[]): Parts | undefined {
  const parts: Partial<Record<Part, number | string>> = {}
  for (const [part, value] of read) {
    if (parts[part] !== undefined && parts[part] !== value) return undefined
    parts[part] = value
  }
  return parts
}

/** `2024-02-29`; undefined for a day that does not exist. */
function dateOf({ year = 1, month, day, dayOfYear }: Parts): string | undefined {
  const yearText = String(year).padStart(4, '0')
  const date =
    dayOfYear === undefined
      ? `${yearText}-${two(month ?? 1)}-${two(day ?? 1)}`
      : dayOfYearText(yearText, Number(dayOfYear))
  if (date === undefined || parseDay(date) === undefined) return undefined
  const isAgreed =
    (month === undefined || date.slice(5, 7) === two(month)) && (day === undefined || date.slice(8) === two(day))
  return isAgreed ? date : undefined
}

function dayOfYearText(year: string, dayOfYear: number): string | undefined {
  const first = parseDay(`${year}-01-01`)
  if (first === undefined || dayOfYear < 1 || dayOfYear > 366) return undefined
  const date = formatDay(first + dayOfYear - 1)
  return date.startsWith(year) ? date : undefined
}

/** `08:05:09.25`; undefined for an invalid time of day. */
function timeOf({ hour, hourOfHalf, half, minute = 0, second = 0, fraction: digits }: Parts): string | undefined {
  if (hourOfHalf !== undefined) {
    if (Number(hourOfHalf) < 1 || Number(hourOfHalf) > 12) return undefined
    if (hour !== undefined && Number(hour) % 12 !== Number(hourOfHalf) % 12) return undefined
  }
  if (hour !== undefined && half !== undefined && Number(hour) >= 12 !== (half === 1)) return undefined
  const halfDayHour = hourOfHalf === undefined ? 0 : (Number(hourOfHalf) % 12) + Number(half ?? 0) * 12
  const time = `${two(hour ?? halfDayHour)}:${two(minute)}:${two(second)}${digits === undefined ? '' : `.${digits}`}`
  return parseTime(time) === undefined ? undefined : time
}

function two(value: number | string): string {
  return String(value).padStart(2, '0')
}

function escaped(literal: string): string {
  return literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

function refused(message: string): ValueError {
  return new ValueError('ValueNotAllowed', message)
}
