/** Parses the JSON of records without loss: numbers that JavaScript cannot hold exactly become bigints or strings. */
import { parse as parseNumbers } from 'lossless-json'
import { isHeldByReal } from './cell-kinds.ts'

/** Most records have no such number, and JSON.parse is much faster. */
const longNumber = /[\d.]{17}|[eE][+-]?\d{3}|\d{16}/
const numbers = /\d[\d.]*(?:[eE][+-]?\d+)?/g
const shortDigits = 16

/** Integers of up to 40 digits that a double does not hold are bigints, other numbers that it does not hold are strings. Throws SyntaxError. */
export function parseRecord(text: string): unknown {
  if (!longNumber.test(text) || (text.match(numbers) ?? []).every(isHeld)) return JSON.parse(text)
  const parseNumber = (digits: string): unknown => {
    if (isHeld(digits.replace('-', ''))) return Number(digits)
    return /^-?\d{1,40}$/.test(digits) ? BigInt(digits) : digits
  }
  // As JSON.parse does.
  return parseNumbers(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue })
}

function isHeld(digits: string): boolean {
  if (digits.length < shortDigits && !/[eE]/.test(digits)) return true
  const [mantissa = '', exponent] = digits.split(/[eE]/)
  if (exponent === undefined && !mantissa.includes('.')) return Number.isSafeInteger(Number(digits))
  return isHeldByReal(digits, mantissa.replace('.', ''))
}
