/** Integers and reals in queries: they compare exactly with each other; arithmetic with a real yields a real. */
import type { JsonWriter } from '../../../bytes/json-writer.ts'
import { Decimal } from '../../../types/decimal-number.ts'
import type { OperatorName } from '../../language/operators.ts'
import {
  decimalType,
  fractionType,
  integerType,
  isFraction,
  isNumeric,
  isWritten,
  realType,
  type ScalarType,
  writtenType,
} from '../value-type.ts'
import {
  calculateBits,
  calculateInteger,
  divideIntegers,
  type Integer,
  moduloIntegers,
  toInteger,
} from '../whole-number.ts'
import {
  type Arithmetic,
  apart,
  type ByKind,
  type Compare,
  codecOf,
  comparePlain,
  type ScalarDefinition,
} from './scalar-kind.ts'

const numberDefinition = {
  ...apart,
  isLong: false,
  commonWith: commonNumber,
  compareWith: { integer: comparePlain, real: comparePlain } as ByKind<Compare>,
  arithmetic: numeric,
} satisfies Partial<ScalarDefinition>

const integerCodec = codecOf({ logicalType: 'integer', encoding: 'signed', storage: 'b64' })

/** In memory: a number while that is exact, a bigint beyond. */
export const integerScalar: ScalarDefinition = {
  ...numberDefinition,
  codec: integerCodec,
  words: ['integer'],
  fromText(text) {
    const value = integerCodec.parse(normalizeNumber(text)) as bigint
    const isSafe = value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER
    return isSafe ? Number(value) : value
  },
  toText: String,
  castFrom: {
    real: (value) => (Number.isFinite(value) ? (toInteger(BigInt(Math.trunc(value as number))) ?? null) : null),
  },
  toJson: (value) => value,
  writeJson: (json, value) => json.ascii(String(value)),
  writeKey: (value, writer) => integerCodec.key.write(value, writer),
  negate: (value) => calculateInteger('minus', 0, value as Integer),
  total: {
    sumType: integerType,
    add: (sum, value) => calculateInteger('plus', sum as Integer, value as Integer),
    averageType: realType,
    average: (mean) => mean,
  },
}

const realCodec = codecOf({ logicalType: 'real', storage: 'b64' })
const singleCodec = codecOf({ logicalType: 'real', storage: 'b32' })

export const realScalar: ScalarDefinition = {
  ...numberDefinition,
  codec: realCodec,
  words: ['real', 'float'],
  fromText: (text) => realCodec.parse(normalizeNumber(text)),
  toText: (value, type) => String(codecOfReal(type).toJson(Number(value))),
  // A value of type real may be a whole number or a decimal in memory.
  castFrom: { integer: Number, real: Number },
  toJson(input, type) {
    const value = input instanceof Decimal ? Number(input) : input
    return Number.isFinite(value) && type.isSingle === true ? singleCodec.toJson(value) : value
  },
  writeJson: writeReal,
  // Values of other numeric types may occur in place of a real.
  writeKey: (value, writer) => realCodec.key.write(Number(value), writer),
  negate: (value) => -(value as number),
  total: {
    sumType: realType,
    add: (sum, value) => Number(sum) + Number(value),
    averageType: realType,
    average: (mean) => mean,
  },
}

function commonNumber(own: ScalarType, other: ScalarType): ScalarType | undefined {
  if (!isNumeric(other)) return undefined
  if (isWritten(other)) return writtenType
  if (isFraction(own) || isFraction(other)) return fractionType
  if (own.kind === 'real' || other.kind === 'real') return realType
  return own.kind === 'decimal' || other.kind === 'decimal' ? decimalType : integerType
}

const writtenNumber = /^([+-]?)(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/

/** Converts `.25`, `7.`, `+1` and `007` to the notation of JSON. A text that is not a number is returned as is. */
export function normalizeNumber(written: string): string {
  const text = written.trim()
  const [, sign, mantissa = '', exponent = ''] = writtenNumber.exec(text) ?? []
  if (sign === undefined) return text
  const digits = mantissa
    .replace(/^0+(?=\d)/, '')
    .replace(/^\./, '0.')
    .replace(/\.$/, '')
  return `${sign === '-' ? '-' : ''}${digits}${exponent}`
}

/** The codec of a single writes the shortest text that identifies it among 32-bit reals. */
export function codecOfReal({ isSingle }: ScalarType): typeof realCodec {
  return isSingle === true ? singleCodec : realCodec
}

function writeReal(json: JsonWriter, stored: unknown, type: ScalarType): void {
  const value = Number(stored)
  if (!Number.isFinite(value)) json.ascii('null')
  else json.ascii(String(type.isSingle === true ? singleCodec.toJson(value) : Object.is(value, -0) ? '-0' : value))
}

function numeric(operator: OperatorName, one: ScalarType, other: ScalarType): Arithmetic | undefined {
  if (!isNumeric(one) || !isNumeric(other)) return undefined
  const areIntegers = one.kind === 'integer' && other.kind === 'integer'
  // Operators of decimals are in `decimals.ts`.
  if (!areIntegers && one.kind !== 'real' && other.kind !== 'real') return undefined
  switch (operator) {
    case 'plus':
    case 'minus':
    case 'multiply':
      if (areIntegers)
        return { type: integerType, calculate: (a: Integer, b: Integer) => calculateInteger(operator, a, b) }
      return { type: realType, calculate: realOperation(operator) }
    case 'divide':
      if (areIntegers) return { type: integerType, calculate: divideIntegers }
      return {
        type: realType,
        calculate: (a: Integer, b: Integer) => (Number(b) === 0 ? null : finite(Number(a) / Number(b))),
      }
    case 'modulo':
      if (areIntegers) return { type: integerType, calculate: moduloIntegers }
      return { type: realType, calculate: (a: Integer, b: Integer) => (Number(b) === 0 ? null : Number(a) % Number(b)) }
    case 'bitAnd':
    case 'bitOr':
    case 'bitXor':
    case 'shiftLeft':
    case 'shiftRight':
      return areIntegers
        ? { type: integerType, calculate: (a: Integer, b: Integer) => calculateBits(operator, a, b) }
        : undefined
    default:
      return undefined
  }
}

function realOperation(operator: 'plus' | 'minus' | 'multiply'): Arithmetic['calculate'] {
  switch (operator) {
    case 'plus':
      return (a: Integer, b: Integer) => finite(Number(a) + Number(b))
    case 'minus':
      return (a: Integer, b: Integer) => finite(Number(a) - Number(b))
    case 'multiply':
      return (a: Integer, b: Integer) => finite(Number(a) * Number(b))
  }
}

/** A result of infinity is an overflow. */
function finite(value: number): number | undefined {
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY ? undefined : value
}
