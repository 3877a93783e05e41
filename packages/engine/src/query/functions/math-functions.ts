/** Mathematical functions. */
import { Decimal, negated, type Rounding, roundedTo } from '../../types/decimal-number.ts'
import { decimalType, integerType, realType, type ScalarType, type ValueType } from '../values/value-type.ts'
import { type Integer, toInteger } from '../values/whole-number.ts'
import type { FunctionDefinition } from './function-definition.ts'

type Numeric = Integer | Decimal

function realFunction(calculate: (value: number) => number): FunctionDefinition {
  return { operands: ['number'], result: realType, calculate: (value: Integer) => calculate(Number(value)) }
}

/** Integers are returned unchanged. */
function rounding(calculate: (value: number) => number, way: Rounding): FunctionDefinition {
  return {
    operands: ['number'],
    result: sameNumber,
    calculate: (value: Numeric) => {
      if (value instanceof Decimal) return roundedTo(value, 0, way)
      return typeof value === 'bigint' ? value : calculate(value) + 0
    },
  }
}

function sameNumber(operand: ValueType): ScalarType {
  if (operand.kind === 'decimal') return decimalType
  return operand.kind === 'integer' ? integerType : realType
}

function absolute(value: Numeric): Numeric {
  if (value instanceof Decimal) return value.units < 0n ? negated(value) : value
  return value < 0 ? -value : value
}

function round(value: Numeric, digits: Integer = 0): unknown {
  if (value instanceof Decimal) return roundedTo(value, Number(digits), 'nearest')
  return typeof value === 'bigint' ? roundInteger(value, Number(digits)) : roundReal(value, Number(digits))
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
function roundInteger(value: bigint, digits: number): Integer | undefined {
  if (digits >= 0) return value
  if (digits < -digitsMax) return 0
  const power = 10n ** BigInt(-digits)
  const magnitude = value < 0n ? -value : value
  const rounded = ((magnitude + power / 2n) / power) * power
  return toInteger(value < 0n ? -rounded : rounded)
}

export const mathFunctions: Readonly<Record<string, FunctionDefinition>> = {
  ABS: {
    operands: ['number'],
    result: sameNumber,
    calculate: absolute,
  },
  RAND: { operands: [], result: realType, calculate: () => Math.random(), isVolatile: true },
  SIGN: {
    operands: ['number'],
    result: (operand) => (operand.kind === 'decimal' ? decimalType : integerType),
    calculate: (value: Integer) => (value > 0 ? 1 : value < 0 ? -1 : 0),
  },
  CEILING: rounding(Math.ceil, 'up'),
  FLOOR: rounding(Math.floor, 'down'),
  ROUND: {
    operands: ['number', 'integer'],
    optional: 1,
    result: sameNumber,
    calculate: round,
  },
  TRUNCATE: rounding(Math.trunc, 'truncate'),
  ACOS: realFunction(Math.acos),
  ASIN: realFunction(Math.asin),
  ATAN: realFunction(Math.atan),
  ATAN2: {
    operands: ['number', 'number'],
    result: realType,
    calculate: (y: Integer, x: Integer) => Math.atan2(Number(y), Number(x)),
  },
  COS: realFunction(Math.cos),
  SIN: realFunction(Math.sin),
  TAN: realFunction(Math.tan),
  PI: { operands: [], result: realType, calculate: () => Math.PI },
  EXP: realFunction(Math.exp),
  LOG: realFunction(Math.log),
  SQRT: realFunction(Math.sqrt),
  IS_NAN: {
    operands: ['number'],
    result: { kind: 'boolean' },
    calculate: (value: Integer) => Number.isNaN(Number(value)),
  },
  IS_INF: {
    operands: ['number'],
    result: { kind: 'boolean' },
    calculate: (value: Integer) => Math.abs(Number(value)) === Number.POSITIVE_INFINITY,
  },
}
