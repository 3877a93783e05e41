/** Decimals in queries: exact, also combined with whole numbers; combined with a real, the result is a real. */

import { unreachable } from '../../../errors.ts'
import {
  type AnyNumber,
  compareDecimals,
  type Decimal,
  difference,
  negated,
  parseDecimal,
  powerOfTen,
  product,
  quotient,
  remainder,
  sum,
  toDecimal,
  withScale,
} from '../../../types/decimal-number.ts'
import type { OperatorName } from '../../language/operators.ts'
import { decimalType, isNumeric, isWritten, type ScalarType } from '../value-type.ts'
import { toInteger } from '../whole-number.ts'
import { normalizeNumber } from './numbers.ts'
import { apart, type ConvertScalar, codecOf, comparePlain, type ScalarDefinition } from './scalar-kind.ts'

const codec = codecOf({ logicalType: 'decimal', precision: 38, scale: 0 })

export const decimalScalar: ScalarDefinition = {
  ...apart,
  codec,
  words: ['decimal'],
  isLong: false,
  commonWith: (own, other) => (own.kind === other.kind ? (isWritten(own) ? own : decimalType) : undefined),
  compareWith: {
    decimal: compareExactly,
    integer: compareExactly,
    real: (one, other) => comparePlain(Number(one), Number(other)),
  },
  fromText: (text) => parseDecimal(normalizeNumber(text)),
  toText: String,
  castFrom: {
    integer: (value) => toDecimal(value as AnyNumber),
    real: (value) => toDecimal(value as AnyNumber) ?? null,
  },
  castTo: { integer: truncatedToInteger, real: Number },
  toJson: String,
  // A parameter is written as it was given.
  writeJson: (json, value, { isWritten: isNumber }) => json.ascii(isNumber === true ? String(value) : `"${value}"`),
  writeKey: (value, writer) => {
    const { units, scale } = exact(value)
    writer.decimal(units, scale)
  },
  arithmetic: (operator, one, other) => {
    const isExact = isNumeric(one) && isNumeric(other) && one.kind !== 'real' && other.kind !== 'real'
    const calculate = isExact ? operationOf(operator) : undefined
    return calculate && { type: decimalType, calculate: (a: unknown, b: unknown) => calculate(exact(a), exact(b)) }
  },
  negate: (value) => negated(exact(value)),
  total: {
    sumType: decimalType,
    add: (one, value) => sum(exact(one), exact(value)),
    averageType: decimalType,
    exactAverage: (total, count) => quotient(exact(total), exact(count)),
  },
}

/** Whole numbers of other types may occur in place of a decimal. */
function exact(value: unknown): Decimal {
  return toDecimal(value as AnyNumber) ?? unreachable('a whole number is a decimal')
}

/** A parameter may have more digits than any decimal. */
function compareExactly(one: unknown, other: unknown): number {
  const [a, b] = [toDecimal(one as AnyNumber), toDecimal(other as AnyNumber)]
  return a === undefined || b === undefined ? comparePlain(Number(one), Number(other)) : compareDecimals(a, b)
}

function truncatedToInteger(value: unknown): unknown {
  const { units, scale } = exact(value)
  return toInteger(units / powerOfTen(scale)) ?? null
}

type Operation = (one: Decimal, other: Decimal) => Decimal | null | undefined

function operationOf(operator: OperatorName): Operation | undefined {
  switch (operator) {
    case 'plus':
      return sum
    case 'minus':
      return difference
    case 'multiply':
      return product
    case 'divide':
      return quotient
    case 'modulo':
      return remainder
    default:
      return undefined
  }
}

/** CAST to a decimal with precision and scale: excess digits after the point are truncated; null if there are too many before it. */
export function castToDigits({ precision, scale }: NonNullable<ScalarType['digits']>): ConvertScalar {
  const end = powerOfTen(precision)
  return (value) => {
    const cut = value === null ? undefined : withScale(exact(value), scale)
    return cut !== undefined && cut.units < end && cut.units > -end ? cut : null
  }
}
