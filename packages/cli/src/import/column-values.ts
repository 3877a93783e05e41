/** Converts texts of a column by the rules of a mapping: texts for null, formats of dates and numbers, lists. */
import { DateTime } from 'luxon'

export interface ValueRules {
  readonly nulls: ReadonlySet<string>
  readonly values: ReadonlyMap<string, unknown>
  /** The format of dates and times: Luxon tokens, `epoch-seconds` or `epoch-milliseconds`. */
  readonly format: string | undefined
  /** An IANA time zone for dates without an offset. */
  readonly zone: string | undefined
  readonly decimal: ',' | '.' | undefined
  /** The separator between elements of a list. */
  readonly separator: string | undefined
}

/** Why a record cannot become an object. */
export class RecordProblem extends Error {}

/** `type`: the logical type of the attribute, if known. Throws RecordProblem, which names the column. */
export type ToValue = (raw: unknown, type: string | undefined) => unknown

/** `column`: its name, for messages. */
export function valuesBy(rules: ValueRules, column: string): ToValue {
  const { separator } = rules
  const toElement = elementsBy(rules, column)
  if (separator === undefined) return toElement
  return (raw, type) => {
    if (typeof raw !== 'string' || rules.nulls.has(raw)) return toElement(raw, type)
    return raw.split(separator).map((element) => toElement(element.trim(), undefined))
  }
}

function elementsBy({ nulls, values, format, zone, decimal }: ValueRules, column: string): ToValue {
  const toDate = format === undefined ? undefined : datesBy(format, zone)
  const toNumber = decimal === undefined ? undefined : numbersBy(decimal)
  return (raw, type) => {
    // A number of seconds is a string in CSV, and a number in JSON.
    const value = typeof raw === 'number' && toDate !== undefined ? String(raw) : raw
    if (typeof value !== 'string') return value
    if (nulls.has(value)) return null
    if (values.has(value)) return values.get(value)
    const read = toDate ?? toNumber
    if (read === undefined) return value
    const result = read(value.trim(), type)
    if (result !== undefined) return result
    const what =
      toDate === undefined ? `not a number with the decimal separator '${decimal}'` : `not of the format ${format}`
    throw new RecordProblem(`Column ${column}: '${value}' is ${what}.`)
  }
}

/** Returns undefined if the text has another format. */
type ReadText = (text: string, type: string | undefined) => string | undefined

/** Groups of three digits may be separated by the other character of comma and dot, by blanks, or by apostrophes. */
function numbersBy(decimal: ',' | '.'): ReadText {
  const point = decimal === ',' ? ',' : '\\.'
  const groups = `[${decimal === ',' ? '.' : ','}\\s'’]`
  const shape = new RegExp(
    `^[+-]?(\\d{1,3}(${groups}\\d{3})+|\\d+)(${point}\\d*)?([eE][+-]?\\d+)?$|^[+-]?${point}\\d+([eE][+-]?\\d+)?$`,
  )
  const grouping = new RegExp(groups, 'g')
  // JSON numbers have no leading zeros.
  return (text) =>
    shape.test(text)
      ? text
          .replaceAll(grouping, '')
          .replace(decimal, '.')
          .replace(/^([+-]?)0+(?=\d)/, '$1')
      : undefined
}

type DateKind = 'date' | 'time' | 'datetime' | 'instant'

const epochFormats: Readonly<Record<string, number>> = { 'epoch-seconds': 1_000, 'epoch-milliseconds': 1 }

function datesBy(format: string, zone: string | undefined): ReadText {
  const unit = epochFormats[format]
  const kind = unit === undefined ? kindOf(format, zone) : 'instant'
  const parser = unit === undefined ? DateTime.buildFormatParser(format) : undefined
  return (text, type) => {
    const parsed =
      parser === undefined
        ? epochDate(text, unit ?? 1)
        : DateTime.fromFormatParser(text, parser, { zone: zone ?? 'utc' })
    return parsed?.isValid === true ? dateText(parsed, kind, type) : undefined
  }
}

function epochDate(text: string, unit: number): DateTime | undefined {
  return /^-?\d+(\.\d+)?$/.test(text)
    ? DateTime.fromMillis(Math.round(Number(text) * unit), { zone: 'utc' })
    : undefined
}

/** Formats a date for the logical type of the attribute, or, if it is unknown, for the kind of the format. */
function dateText(parsed: DateTime, kind: DateKind, type: string | undefined): string {
  const target = type === 'date' || type === 'time' || type === 'datetime' ? type : undefined
  if (target === 'date' || (target === undefined && kind === 'date')) return parsed.toFormat('yyyy-LL-dd')
  if (target === 'time' || (target === undefined && kind === 'time')) return parsed.toFormat('HH:mm:ss.SSS')
  return kind === 'instant'
    ? parsed.toUTC().toFormat("yyyy-LL-dd'T'HH:mm:ss.SSS'Z'")
    : parsed.toFormat("yyyy-LL-dd'T'HH:mm:ss.SSS")
}

function kindOf(format: string, zone: string | undefined): DateKind {
  const tokens = format.replaceAll(/'[^']*'/g, '')
  const hasTime = /[SuHhmstTfF]/.test(tokens)
  if (!/[dLMyoWkDfF]/.test(tokens)) return 'time'
  if (!hasTime) return 'date'
  return zone !== undefined || /[Zz]/.test(tokens) ? 'instant' : 'datetime'
}

/** Throws RecordProblem for an invalid format or zone. */
export function checkDateFormat(format: string | undefined, zone: string | undefined): void {
  if (zone !== undefined && !DateTime.utc().setZone(zone).isValid)
    throw new RecordProblem(`'${zone}' is not a time zone`)
  if (format === undefined || epochFormats[format] !== undefined) return
  // The format must be able to parse its own output.
  const example = DateTime.utc(2001, 2, 3, 4, 5, 6)
  const isFormat = /[a-zA-Z]/.test(format.replaceAll(/'[^']*'/g, ''))
  if (!isFormat || !DateTime.fromFormat(example.toFormat(format), format, { zone: 'utc' }).isValid)
    throw new RecordProblem(`'${format}' is not a date format`)
}
