/** `+ - * / %`, by the types of what they stand between (docs/query-language.md, Operators). */
import { ticksPerDay } from '../../types/calendar.ts'
import type { OffsetDateTime } from '../../types/datetime.ts'
import type { OperatorName } from '../language/operators.ts'
import { ticksOf } from '../values/compare.ts'
import { integerType, isNumeric, isText, realType, stringType, type ValueType } from '../values/value-type.ts'
import {
  type BitOperation,
  calculateBits,
  calculateWhole,
  divideWhole,
  moduloWhole,
  type Whole,
} from './whole-number.ts'

export interface Arithmetic {
  readonly type: ValueType
  /** Of values that are not null. Undefined = beyond what the type holds. */
  readonly calculate: (one: never, other: never) => unknown
}

const yearTicksMax = 3_652_059 * ticksPerDay
const intervalTicksMax = 5_000_000 * ticksPerDay

/** Undefined where the operator does not stand between values of these types. */
export function arithmeticFor(operator: OperatorName, one: ValueType, other: ValueType): Arithmetic | undefined {
  if (isNumeric(one) && isNumeric(other)) return numeric(operator, one, other)
  if (operator === 'plus' && isText(one) && isText(other)) {
    return { type: stringType, calculate: (a: string, b: string) => a + b }
  }
  if (operator === 'plus' && one.kind === 'interval' && other.kind !== 'interval') {
    const turned = temporal('plus', other, one)
    return turned && { type: turned.type, calculate: (a, b) => turned.calculate(b, a) }
  }
  return temporal(operator, one, other)
}

function numeric(operator: OperatorName, one: ValueType, other: ValueType): Arithmetic | undefined {
  const isWhole = one.kind === 'integer' && other.kind === 'integer'
  switch (operator) {
    case 'plus':
    case 'minus':
    case 'multiply':
      if (isWhole) return { type: integerType, calculate: (a: Whole, b: Whole) => calculateWhole(operator, a, b) }
      return { type: realType, calculate: realOperation(operator) }
    case 'divide':
      if (isWhole) return { type: integerType, calculate: divideWhole }
      return {
        type: realType,
        calculate: (a: Whole, b: Whole) => (Number(b) === 0 ? null : finite(Number(a) / Number(b))),
      }
    case 'modulo':
      if (isWhole) return { type: integerType, calculate: moduloWhole }
      return { type: realType, calculate: (a: Whole, b: Whole) => (Number(b) === 0 ? null : Number(a) % Number(b)) }
    case 'bitAnd':
    case 'bitOr':
    case 'bitXor':
    case 'shiftLeft':
    case 'shiftRight':
      return isWhole ? { type: integerType, calculate: bits(operator) } : undefined
    default:
      return undefined
  }
}

function bits(operator: BitOperation): Arithmetic['calculate'] {
  return (a: Whole, b: Whole) => calculateBits(operator, a, b)
}

function realOperation(operator: 'plus' | 'minus' | 'multiply'): Arithmetic['calculate'] {
  switch (operator) {
    case 'plus':
      return (a: Whole, b: Whole) => finite(Number(a) + Number(b))
    case 'minus':
      return (a: Whole, b: Whole) => finite(Number(a) - Number(b))
    case 'multiply':
      return (a: Whole, b: Whole) => finite(Number(a) * Number(b))
  }
}

/** Infinity from finite numbers is an overflow; what was infinite or no number before stays so. */
function finite(value: number): number | undefined {
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY ? undefined : value
}

function temporal(operator: OperatorName, one: ValueType, other: ValueType): Arithmetic | undefined {
  if (one.kind === 'interval') return ofInterval(operator, other)
  if (other.kind === 'interval') return shifted(operator, one)
  return operator === 'minus' ? difference(one, other) : undefined
}

function ofInterval(operator: OperatorName, other: ValueType): Arithmetic | undefined {
  const type: ValueType = { kind: 'interval' }
  if (other.kind === 'interval') {
    if (operator === 'plus') return { type, calculate: (a: number, b: number) => bounded(a + b) }
    if (operator === 'minus') return { type, calculate: (a: number, b: number) => bounded(a - b) }
    if (operator === 'divide') return { type: realType, calculate: (a: number, b: number) => (b === 0 ? null : a / b) }
  }
  if (!isNumeric(other)) return undefined
  if (operator === 'multiply') return { type, calculate: (a: number, b: Whole) => bounded(Math.trunc(a * Number(b))) }
  if (operator !== 'divide') return undefined
  return { type, calculate: (a: number, b: Whole) => (Number(b) === 0 ? null : bounded(Math.trunc(a / Number(b)))) }
}

function bounded(ticks: number): number | undefined {
  return Math.abs(ticks) <= intervalTicksMax ? ticks + 0 : undefined
}

/** A date moves by whole days, a time of day goes round at midnight. */
function shifted(operator: OperatorName, one: ValueType): Arithmetic | undefined {
  if (operator !== 'plus' && operator !== 'minus') return undefined
  const sign = operator === 'plus' ? 1 : -1
  switch (one.kind) {
    case 'date':
      return {
        type: one,
        calculate: (days: number, ticks: number) => inYears(days + sign * Math.trunc(ticks / ticksPerDay), 1),
      }
    case 'time':
      return { type: one, calculate: (time: number, ticks: number) => modulo(time + sign * ticks, ticksPerDay) }
    case 'datetime':
      return { type: one, calculate: (at: number, ticks: number) => inYears(at + sign * ticks, ticksPerDay) }
    case 'datetimeoffset':
      return {
        type: one,
        calculate: (at: OffsetDateTime, by: number) => {
          const ticks = inYears(at.ticks + sign * by, ticksPerDay)
          return ticks === undefined ? undefined : { ticks, offsetMinutes: at.offsetMinutes }
        },
      }
    default:
      return undefined
  }
}

/** Undefined outside of the years 1 to 9999. */
function inYears(value: number, perDay: number): number | undefined {
  return value >= 0 && value < (yearTicksMax / ticksPerDay) * perDay ? value : undefined
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by
}

function difference(one: ValueType, other: ValueType): Arithmetic | undefined {
  const type: ValueType = { kind: 'interval' }
  if (one.kind === 'time' && other.kind === 'time') {
    return { type, calculate: (a: number, b: number) => a - b }
  }
  const moments = ['date', 'datetime', 'datetimeoffset']
  if (!moments.includes(one.kind) || !moments.includes(other.kind)) return undefined
  const [a, b] = [ticksOf(one), ticksOf(other)]
  return { type, calculate: (from: unknown, to: unknown) => a(from) - b(to) + 0 }
}
