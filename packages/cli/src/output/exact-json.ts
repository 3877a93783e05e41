/** JSON with integers beyond 2^53 preserved exactly. */
import { parseNumberAndBigInt, parse as parseNumbers, stringify as stringifyNumbers } from 'lossless-json'

/** Most texts have no such number, and JSON.parse is much faster. */
const longInteger = /\d{16}/

/** Matches numbers beyond all doubles: three digits of exponent, or 309 digits. */
const hugeNumber = /[eE]\+?\d{3}|\d{309}/

/**
 * Integers that a double cannot represent are bigints. Throws SyntaxError, also for numbers beyond all doubles, which would become null; with
 * `keepsHugeNumbers` they become strings of their digits.
 */
export function parseExactly(text: string, keepsHugeNumbers = false): unknown {
  if (!longInteger.test(text) && !hugeNumber.test(text)) return JSON.parse(text)
  return parseNumbers(text, null, (digits) => {
    const value = Number(digits)
    if (!Number.isFinite(value) && !/^-?\d+$/.test(digits)) {
      if (keepsHugeNumbers) return digits
      throw new SyntaxError(`the number ${digits} is too large`)
    }
    return Number.isSafeInteger(value) || !/^-?\d+$/.test(digits) ? value : parseNumberAndBigInt(digits)
  })
}

/** Writes bigints as their digits. `indent`: blanks per level. */
export function stringifyExactly(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent)
  } catch (error) {
    // JSON.stringify throws a TypeError for a bigint.
    if (!(error instanceof TypeError)) throw error
    return stringifyNumbers(value, null, indent) ?? 'null'
  }
}
