/**
 * Numbers of a JSON text that are not whole, and that a double does not hold: 1e-400 would be 0, and 0.1000000000000000000001 would be
 * 0.1. They come as symbols, whose description is the number as it was written, so that nothing takes one for a value of another kind.
 */
import { type Decimal, parseDecimal, plainText, zerosAtEnd } from './decimal-number.ts'

export function withHiddenFraction(digits: string): symbol {
  return Symbol(digits)
}

/** The nearest double. */
export function nearestDouble(number: symbol): number {
  return Number(number.description)
}

/** Of a number with a point or an exponent: true where its nearest double is whole, and it is not. */
export function isHiddenFraction(number: string): boolean {
  return Number.isInteger(Number(number)) && hasFraction(number)
}

/** Integers of 64 bits are below it. */
const integersEnd = 2 ** 64

/** A number with a point or an exponent: a double where that stands for it, a bigint where it is an integer, else a symbol. */
export function exactNumberOf(digits: string): number | bigint | symbol {
  const value = Number(digits)
  const shown = String(value)
  if (shown === digits || !Number.isFinite(value) || significant(shown) === significant(digits)) return value
  if (hasFraction(digits) || Math.abs(value) >= integersEnd) return withHiddenFraction(digits)
  return BigInt(plainText(parseDecimal(digits)))
}

/** A decimal as a number of a JSON text would come, for codecs of any type of numbers. */
export function decimalAsGiven(value: Decimal): bigint | symbol {
  return value.isWhole ? BigInt(plainText(value)) : withHiddenFraction(String(value))
}

/** The digits of the number without zeros around them, and where they stand; equal for equal numbers. */
function significant(number: string): string {
  const [mantissa = '', exponent = '0'] = number.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = `${whole.replace('-', '')}${fraction}`.replace(/^0+/, '')
  const zeros = zerosAtEnd(digits)
  if (zeros === digits.length) return '0'
  const place = Number(exponent) - fraction.length + zeros
  return `${whole.startsWith('-') ? '-' : ''}${digits.slice(0, digits.length - zeros)}e${place}`
}

/** Whether a digit other than 0 stands behind the point, were the number written out. */
function hasFraction(number: string): boolean {
  const [mantissa = '', exponent = '0'] = number.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = `${whole}${fraction}`
  const end = digits.length - zerosAtEnd(digits)
  return end > 0 && end > whole.length + Number(exponent)
}
