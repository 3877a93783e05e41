/** Mathematical functions. */
import { integerType, realType, type ScalarType, type ValueType } from '../values/value-type.ts'
import { type Whole, wholeOf } from '../values/whole-number.ts'
import type { FunctionDefinition } from './function-definition.ts'

function ofNumber(calculate: (value: number) => number): FunctionDefinition {
  return { operands: ['number'], result: realType, calculate: (value: Whole) => calculate(Number(value)) }
}

/** Integers are returned unchanged. */
function rounding(calculate: (value: number) => number): FunctionDefinition {
  return {
    operands: ['number'],
    result: sameNumber,
    calculate: (value: Whole) => (typeof value === 'bigint' ? value : calculate(value) + 0),
  }
}

function sameNumber(operand: ValueType): ScalarType {
  return operand.kind === 'integer' ? integerType : realType
}

/** Rounds half away from zero. Negative digits round to the left of the decimal point: -2 rounds to hundreds. */
function roundReal(value: number, digits: number): number {
  const power = 10 ** Math.abs(digits)
  const scaled = digits < 0 ? Math.abs(value) / power : Math.abs(value) * power
  if (!Number.isFinite(scaled)) return value
  const rounded = Math.round(scaled)
  if (rounded === 0) return 0
  return Math.sign(value) * (digits < 0 ? rounded * power : rounded / power)
}

const digitsMax = 20

/** Undefined on overflow. */
function roundWhole(value: bigint, digits: number): Whole | undefined {
  if (digits >= 0) return value
  if (digits < -digitsMax) return 0
  const power = 10n ** BigInt(-digits)
  const magnitude = value < 0n ? -value : value
  const rounded = ((magnitude + power / 2n) / power) * power
  return wholeOf(value < 0n ? -rounded : rounded)
}

export const mathFunctions: Readonly<Record<string, FunctionDefinition>> = {
  ABS: {
    operands: ['number'],
    result: sameNumber,
    calculate: (value: Whole) => (value < 0 ? (typeof value === 'bigint' ? -value : -value) : value),
  },
  RAND: { operands: [], result: realType, calculate: () => Math.random(), isVolatile: true },
  SIGN: {
    operands: ['number'],
    result: integerType,
    calculate: (value: Whole) => (value > 0 ? 1 : value < 0 ? -1 : 0),
  },
  CEILING: rounding(Math.ceil),
  FLOOR: rounding(Math.floor),
  ROUND: {
    operands: ['number', 'integer'],
    optional: 1,
    result: sameNumber,
    calculate: (value: Whole, digits: Whole = 0) => {
      return typeof value === 'bigint' ? roundWhole(value, Number(digits)) : roundReal(value, Number(digits))
    },
  },
  TRUNCATE: rounding(Math.trunc),
  ACOS: ofNumber(Math.acos),
  ASIN: ofNumber(Math.asin),
  ATAN: ofNumber(Math.atan),
  ATAN2: {
    operands: ['number', 'number'],
    result: realType,
    calculate: (y: Whole, x: Whole) => Math.atan2(Number(y), Number(x)),
  },
  COS: ofNumber(Math.cos),
  SIN: ofNumber(Math.sin),
  TAN: ofNumber(Math.tan),
  PI: { operands: [], result: realType, calculate: () => Math.PI },
  EXP: ofNumber(Math.exp),
  LOG: ofNumber(Math.log),
  SQRT: ofNumber(Math.sqrt),
  IS_NAN: {
    operands: ['number'],
    result: { kind: 'boolean' },
    calculate: (value: Whole) => Number.isNaN(Number(value)),
  },
  IS_INF: {
    operands: ['number'],
    result: { kind: 'boolean' },
    calculate: (value: Whole) => Math.abs(Number(value)) === Number.POSITIVE_INFINITY,
  },
}
