/** Parses JSON text, with exact values for numbers beyond the precision of a double. */
import { isAscii, isUtf8, transcode } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { exactNumberOf } from '@ashlar/engine'
import { malformedJson, quoteByte } from './json-scan.ts'

/** Throws MalformedRequest. */
export function decode(body: Uint8Array): string {
  if (isAscii(body)) return Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1')
  if (!isUtf8(body)) throw malformedJson('The body is not UTF-8.')
  // A TextDecoder takes four times as long.
  return transcode(body, 'utf8', 'utf16le').toString('utf16le')
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const { message } = error as Error
    const hint = message.startsWith('Bad control character') ? ' Within a string, a line break is written \\n.' : ''
    throw malformedJson(`The body is not JSON: ${message.slice(0, 200)}.${hint}`)
  }
}

/** Prefix of the strings that replace numbers in the parsed text; clients cannot guess it. */
const placeholder = `${randomBytes(9).toString('base64')} `
const wholeNumber = /^-?\d+$/
/** Longer numbers exceed all ranges; a bigint of a million digits would take seconds to create. */
const exactCharactersMax = 40
/** Numbers replaced or restored before yielding: a millisecond of work. */
const numbersPerSlice = 1_024

/**
 * Parses a body with exact numbers. `wideNumbers`: from `JsonScan`. Yields between steps that each take a fraction of a millisecond, except
 * `JSON.parse`. Throws MalformedRequest.
 */
export function* parseExactly(body: Uint8Array, wideNumbers: readonly number[]): Generator<undefined, unknown> {
  if (wideNumbers.length === 0) return parseText(decode(body))
  const text = yield* withPlaceholders(body, wideNumbers)
  let parsed: unknown
  try {
    parsed = JSON.parse(decode(text))
  } catch {
    // Its error has positions in the body itself.
    return parseText(decode(body))
  }
  yield
  const top = [parsed]
  // A field name cannot be a number.
  return (yield* restoreNumbers(top, { count: 0 })) ? top[0] : parseText(decode(body))
}

function* withPlaceholders(body: Uint8Array, wideNumbers: readonly number[]): Generator<undefined, Buffer> {
  const quoted = Buffer.from(`"${placeholder}`)
  const text = Buffer.allocUnsafe(body.length + (wideNumbers.length / 2) * (quoted.length + 1))
  let [copied, at] = [0, 0]
  const copy = (from: Uint8Array, start: number, end: number): void => {
    // Creating a view costs more than a loop over a few bytes.
    if (end - start > 64) {
      text.set(from.subarray(start, end), at)
      at += end - start
    } else for (let i = start; i < end; i++) text[at++] = from[i] as number
  }
  for (let i = 0; i < wideNumbers.length; i += 2) {
    const [from, to] = [wideNumbers[i] as number, wideNumbers[i + 1] as number]
    copy(body, copied, from)
    copy(quoted, 0, quoted.length)
    copy(body, from, to)
    text[at++] = quoteByte
    copied = to
    if (i % (2 * numbersPerSlice) === 0) yield
  }
  copy(body, copied, body.length)
  return text
}

/** Replaces the placeholders in a container recursively. Returns false if one is the name of a field. */
function* restoreNumbers(container: object, numbers: { count: number }): Generator<undefined, boolean> {
  const values = container as Record<string, unknown>
  const isArray = Array.isArray(container)
  for (const name of Object.keys(values)) {
    if (!isArray && name.startsWith(placeholder)) return false
    const value = values[name]
    if (typeof value === 'string') {
      if (!value.startsWith(placeholder)) continue
      values[name] = exactNumber(value.slice(placeholder.length))
      if (++numbers.count % numbersPerSlice === 0) yield
    } else if (typeof value === 'object' && value !== null && !(yield* restoreNumbers(value, numbers))) return false
  }
  return true
}

/** Returns a double if it represents the number exactly, otherwise a bigint, or a symbol for an inexact fraction. */
function exactNumber(digits: string): number | bigint | symbol {
  if (!wholeNumber.test(digits)) return exactNumberOf(digits)
  const value = Number(digits)
  return Number.isSafeInteger(value) || digits.length > exactCharactersMax ? value : BigInt(digits)
}

/** Counts values like `JsonScan`. Recurses as deep as the value is nested. */
export function hasMoreValuesThan(max: number, parsed: unknown): boolean {
  return valuesLeft(max, parsed) < 0
}

/** Returns the rest of `max` values; a negative result stops the count. */
function valuesLeft(max: number, parsed: unknown): number {
  let left = max - 1
  if (typeof parsed !== 'object' || parsed === null) return left
  for (const name in parsed) {
    if (left < 0) return left
    if (!Array.isArray(parsed)) left--
    left = valuesLeft(left, (parsed as Readonly<Record<string, unknown>>)[name])
  }
  return left
}
