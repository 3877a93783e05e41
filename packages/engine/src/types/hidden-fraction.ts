/**
 * Fractional numbers of a JSON text that a double cannot represent: 1e-400 would be 0, and 0.1000000000000000000001 would be 0.1. They are parsed to
 * symbols whose description is the original number, so that they are not mistaken for other values.
 */
import { canonicalDecimal, type Decimal, parseDecimal, zerosAtEnd } from './decimal-number.ts'

export function withHiddenFraction(digits: string): symbol {
  return Symbol(digits)
}

/** The nearest double. */
export function nearestDouble(number: symbol): number {
  return Number(number.description)
}

/** For a number with a point or an exponent: true if its nearest double is an integer but the number is not. */
export function isHiddenFraction(number: string): boolean {
  return Number.isInteger(Number(number)) && hasFraction(number)
}

/** Upper bound of integers of 64 bits. */
const integersEnd = 2 ** 64

/** A number with a point or an exponent: a double if that is exact, a bigint if it is an integer, otherwise a symbol. */
export function exactNumberOf(digits: string): number | bigint | symbol {
  const value = Number(digits)
  const text = String(value)
  if (text === digits || !Number.isFinite(value) || significant(text) === significant(digits)) return value
  if (hasFraction(digits) || Math.abs(value) >= integersEnd) return withHiddenFraction(digits)
  return BigInt(canonicalDecimal(parseDecimal(digits)))
}

/** A decimal in the form in which JSON numbers are parsed, for codecs of any numeric type. */
export function decimalToJsonNumber(value: Decimal): bigint | symbol {
  return value.isInteger ? BigInt(canonicalDecimal(value)) : withHiddenFraction(String(value))
}

/** The significant digits and their exponent; equal for equal numbers. */
function significant(number: string): string {
  const [mantissa = '', exponent = '0'] = number.toLowerCase().split('e')
  const [integer = '', fraction = ''] = mantissa.split('.')
  const digits = `${integer.replace('-', '')}${fraction}`.replace(/^0+/, '')
  const zeros = zerosAtEnd(digits)
  if (zeros === digits.length) return '0'
  const place = Number(exponent) - fraction.length + zeros
  return `${integer.startsWith('-') ? '-' : ''}${digits.slice(0, digits.length - zeros)}e${place}`
}

/** Whether the written-out number has a non-zero digit after the point. */
function hasFraction(number: string): boolean {
  const [mantissa = '', exponent = '0'] = number.toLowerCase().split('e')
  const [integer = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = `${integer}${fraction}`
  const end = digits.length - zerosAtEnd(digits)
  return end > 0 && end > integer.length + Number(exponent)
}
