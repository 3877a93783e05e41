/** Numbers of a JSON text of which a double does not hold all. */
import { isHiddenFraction, withHiddenFraction } from '@ashlar/engine'

/**
 * What a number looks like of which a double may not hold all: whole ones of 16 digits; fractions that are lost beside what stands before
 * the point; exponents so small that nothing is left. No part of the pattern is unbounded: millions of digits would be too many for one. Most other numbers with a fraction are left to JSON.parse, which is faster.
 */
export const beyondDouble = /\d{16}|\d{12}\.|[1-9]\d{0,10}\.(?:0000|9999)\d|\.\d{5,15}[eE]\+?\d|[eE]-\d{3}/
const wholeNumber = /^-?\d+$/
/** A longer number is out of every range; a bigint of a million digits would take seconds to make. */
const exactCharactersMax = 40

/** A double, where it holds all of the number; else a bigint, or what stands for a fraction that it does not show. */
export function exactNumber(digits: string): number | bigint | symbol {
  const value = Number(digits)
  if (!wholeNumber.test(digits)) return isHiddenFraction(digits) ? withHiddenFraction(digits) : value
  return Number.isSafeInteger(value) || digits.length > exactCharactersMax ? value : BigInt(digits)
}
