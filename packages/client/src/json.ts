/** JSON of requests and replies with exact numbers, and with instants as `Date`. */
import { newIdempotencyKey } from './idempotency-key.ts'

/** Precedes the digits of a bigint in a JSON string. It is random, so that no string of a caller begins with it. */
const marker = newIdempotencyKey()
const markedDigits = new RegExp(`"${marker}(-?\\d+)"`, 'g')

/** A value sent as this JSON text, which preserves the order of fields and the digits of numbers for attributes of type json. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toJSON(): unknown {
    return JSON.parse(this.text)
  }
}

/** Matches the placeholder for a text, with its number. */
const markedText = new RegExp(`"${marker}#(\\d+)"`, 'g')

/** Writes a bigint as a number with all digits. Throws RangeError for an invalid Date, which JSON.stringify would write as null. */
export function stringifyBody(
  body: unknown,
  replace?: (holder: unknown, name: string, value: string) => string,
): string {
  let hasBigints = false
  const texts: string[] = []
  const text = JSON.stringify(body, function (this: Readonly<Record<string, unknown>>, name: string, value: unknown) {
    const original = this[name]
    if (original instanceof JsonText) return `${marker}#${texts.push(original.text) - 1}`
    if (typeof value === 'string') return replace === undefined ? value : replace(this, name, value)
    if (typeof value === 'bigint') {
      hasBigints = true
      return `${marker}${value}`
    }
    if (value === null && original instanceof Date) throw new RangeError(`The value of '${name}' is an invalid Date.`)
    return value
  })
  const withTexts = texts.length === 0 ? text : text.replace(markedText, (_, number) => texts[number] as string)
  return hasBigints ? withTexts.replace(markedDigits, '$1') : withTexts
}

/** Detects long integers, which are rare; JSON.parse alone is faster. */
const longInteger = /\d{16}/
const number = /-?\d[\d.eE+-]*/g

/** Returns integers beyond the precision of a number as bigints. Engines before 2024 do not pass the source text of a number to a reviver. */
export function parseExactly(text: string): unknown {
  if (!longInteger.test(text)) return JSON.parse(text)
  return JSON.parse(markIntegers(text), (_name, value: unknown) =>
    typeof value === 'string' && value.startsWith(marker) ? BigInt(value.slice(marker.length)) : value,
  )
}

function markIntegers(text: string): string {
  let marked = ''
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at)
    const end = quote < 0 ? text.length : quote
    marked += text.slice(at, end).replace(number, markIfUnsafe)
    at = quote < 0 ? end : endOfString(text, quote)
    marked += text.slice(end, at)
  }
  return marked
}

function markIfUnsafe(digits: string): string {
  return /^-?\d+$/.test(digits) && !Number.isSafeInteger(Number(digits)) ? `"${marker}${digits}"` : digits
}

/** Returns the index after the closing quote. */
function endOfString(text: string, opening: number): number {
  for (let quote = opening; ; ) {
    quote = text.indexOf('"', quote + 1)
    if (quote < 0) return text.length
    let backslashes = 0
    while (text[quote - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return quote + 1
  }
}

/** A date and time with `Z` or an offset. */
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

/** Replaces strings of this format by Date objects, in place. */
export function reviveDates(value: unknown): unknown {
  if (typeof value === 'string') {
    if (!instant.test(value)) return value
    const date = new Date(value)
    return Number.isNaN(date.getTime()) ? value : date
  }
  if (typeof value !== 'object' || value === null) return value
  const fields = value as Record<string, unknown>
  for (const name of Object.keys(fields)) {
    const revived = reviveDates(fields[name])
    if (revived !== fields[name]) fields[name] = revived
  }
  return value
}
