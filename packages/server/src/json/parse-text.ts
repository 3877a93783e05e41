/** JSON that is parsed at once. */
import { isAscii } from 'node:buffer'
import { isHiddenFraction, withHiddenFraction } from '@ashlar/engine'
import { parse as parseLossless } from 'lossless-json'
import { malformed } from './json-layout.ts'

/** Keeps byte order marks, which are then refused: one at the beginning of a body was removed before. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Throws MalformedRequest. */
export function decode(body: Uint8Array): string {
  // Most bodies; the decoder takes fifty times as long.
  if (isAscii(body)) return Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1')
  try {
    return decoder.decode(body)
  } catch {
    throw malformed('The body is not UTF-8.')
  }
}

/** `mayHaveWide`: false if a scan has found no number that a double cannot hold; otherwise the text is searched. Throws MalformedRequest. */
export function parseText(text: string, mayHaveWide: boolean): unknown {
  try {
    return mayHaveWide && beyondDouble.test(text) ? parseExactly(text) : JSON.parse(text)
  } catch (error) {
    const { message } = error as Error
    const hint = message.startsWith('Bad control character') ? ' Within a string, a line break is written \\n.' : ''
    throw malformed(`The body is not JSON: ${message.slice(0, 200)}.${hint}`)
  }
}

function parseExactly(text: string): unknown {
  // Checked first, since the exact parser accepts a little more than JSON.
  JSON.parse(text)
  return parseLossless(text, null, { parseNumber: exactNumber, onDuplicateKey: ({ newValue }) => newValue })
}

/**
 * Matches numbers that a double may not hold exactly: integers of 16 digits; fractions that vanish beside the integer part; exponents so small that
 * the result is 0. No part of the pattern is unbounded, for texts of millions of digits. Most other numbers with a fraction are left to JSON.parse,
 * which is faster.
 */
const beyondDouble = /\d{16}|\d{12}\.|[1-9]\d{0,10}\.(?:0000|9999)\d|\.\d{5,15}[eE]\+?\d|[eE]-\d{3}/
const wholeNumber = /^-?\d+$/
/** A longer number is out of every range; a bigint of a million digits would take seconds to make. */
const exactCharactersMax = 40

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
