/** ABS, ROUND, SIN and the like. */
import { integerType, realType, type ScalarType, type ValueType } from '../values/value-type.ts'
import type { FunctionDefinition } from './function-definition.ts'
import type { Whole } from './whole-number.ts'
import { calculateWhole } from './whole-number.ts'

function ofNumber(calculate: (value: number) => number): FunctionDefinition {
  return { operands: ['number'], result: realType, calculate: (value: Whole) => calculate(Number(value)) }
}

/** Whole numbers stay as they are. */
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

/** Halves are rounded away from zero. */
function roundHalfAway(value: number, digits: number): number {
  const scale = 10 ** digits
  const scaled = Math.abs(value) * scale
  if (!Number.isFinite(scaled)) return value
  const rounded = Math.floor(scaled + 0.5)
  return (Math.sign(value) * rounded) / scale
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
      return typeof value === 'bigint' ? value : roundHalfAway(value, Number(digits)) + 0
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

/** `-value`; undefined on overflow. */
export function negated(value: Whole): Whole | undefined {
  return calculateWhole('minus', 0, value)
}
