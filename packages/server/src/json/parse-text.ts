/** Parses JSON text, with numbers that a double cannot hold as exact values. */
import { isAscii, isUtf8, transcode } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { isHiddenFraction, withHiddenFraction } from '@ashlar/engine'
import { type BytesOfNumber, latin1, malformed } from './json-scan.ts'

/** Throws MalformedRequest. */
export function decode(body: Uint8Array): string {
  if (isAscii(body)) return latin1(body, 0, body.length)
  if (!isUtf8(body)) throw malformed('The body is not UTF-8.')
  // A TextDecoder takes four times as long.
  return transcode(body, 'utf8', 'utf16le').toString('utf16le')
}

/** Throws MalformedRequest. */
function parseText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const { message } = error as Error
    const hint = message.startsWith('Bad control character') ? ' Within a string, a line break is written \\n.' : ''
    throw malformed(`The body is not JSON: ${message.slice(0, 200)}.${hint}`)
  }
}

/** Begins the string by which a number is replaced in the text that is parsed; no client can guess it. */
const placeholder = `${randomUUID()} `
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const wholeNumber = /^-?\d+$/
/** A longer number is out of every range; a bigint of a million digits would take seconds to make. */
const exactCharactersMax = 40

/** Parses a body in which these numbers may be ones that a double does not hold. Throws MalformedRequest. */
export function parseExactly(body: Uint8Array, numbers: readonly BytesOfNumber[]): unknown {
  const replaced = numbers.filter(({ from, to }) => number.test(latin1(body, from, to)))
  if (replaced.length === 0) return parseText(decode(body))
  const parts: Uint8Array[] = []
  let end = 0
  for (const { from, to } of replaced) {
    parts.push(body.subarray(end, from), Buffer.from(`"${placeholder}${latin1(body, from, to)}"`))
    end = to
  }
  parts.push(body.subarray(end))
  const text = decode(Buffer.concat(parts))
  try {
    return withNumbers(JSON.parse(text))
  } catch {
    // Its error has the positions of the body itself.
    return parseText(decode(body))
  }
}

/** Replaces the placeholders. Recurses as deep as the value is nested. Throws for a number that is the name of a field. */
function withNumbers(parsed: unknown): unknown {
  if (typeof parsed === 'string')
    return parsed.startsWith(placeholder) ? exactNumber(parsed.slice(placeholder.length)) : parsed
  if (typeof parsed !== 'object' || parsed === null) return parsed
  const values = parsed as Record<string, unknown>
  for (const name of Object.keys(values)) {
    if (name.startsWith(placeholder)) throw new SyntaxError()
    values[name] = withNumbers(values[name])
  }
  return values
}

/** Returns a double if it holds the number exactly, otherwise a bigint, or a symbol for an inexact fraction. */
function exactNumber(digits: string): number | bigint | symbol {
  const value = Number(digits)
  if (!wholeNumber.test(digits)) return isHiddenFraction(digits) ? withHiddenFraction(digits) : value
  return Number.isSafeInteger(value) || digits.length > exactCharactersMax ? value : BigInt(digits)
}

/** Whether it has more values than that: numbers, texts, literals, arrays, objects, and names of fields. Recurses as deep as it is nested. */
export function hasMoreValuesThan(max: number, parsed: unknown): boolean {
  return valuesLeft(max, parsed) < 0
}

/** Returns what is left of `max` values; negative, without counting the rest, if there are more. */
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
