/** Intervals in queries, in ticks: added to each other, and multiplied and divided by numbers. `moments.ts` adds them to dates and times. */
import { ticksPerDay } from '../../../types/calendar.ts'
import type { OperatorName } from '../../language/operators.ts'
import { isNumeric, realType, type ScalarType } from '../value-type.ts'
import type { Integer } from '../whole-number.ts'
import { type Arithmetic, apart, codecOf, comparePlain, type ScalarDefinition, sameKind } from './scalar-kind.ts'

const codec = codecOf({ logicalType: 'interval' })
const type: ScalarType = { kind: 'interval' }
const ticksMax = 5_000_000 * ticksPerDay

export const intervalScalar: ScalarDefinition = {
  ...apart,
  codec,
  words: ['interval'],
  isLong: false,
  commonWith: sameKind,
  compareWith: { interval: comparePlain },
  fromText: (text) => codec.parse(text),
  toText: (value) => codec.toJson(value) as string,
  toJson: codec.toJson,
  writeJson: (json, value) => json.ascii(`"${codec.toJson(value)}"`),
  writeKey: (value, writer) => codec.key.write(value, writer),
  arithmetic: (operator, one, other) => (one.kind === 'interval' ? intervalArithmetic(operator, other) : undefined),
  negate: (value) => -(value as number),
  total: {
    sumType: type,
    add: (sum, value) => Number(sum) + Number(value),
    averageType: type,
    average: Math.trunc,
  },
}

function intervalArithmetic(operator: OperatorName, other: ScalarType): Arithmetic | undefined {
  if (other.kind === 'interval') {
    if (operator === 'plus') return { type, calculate: (a: number, b: number) => bounded(a + b) }
    if (operator === 'minus') return { type, calculate: (a: number, b: number) => bounded(a - b) }
    if (operator === 'divide') return { type: realType, calculate: (a: number, b: number) => (b === 0 ? null : a / b) }
  }
  if (!isNumeric(other)) return undefined
  if (operator === 'multiply') return { type, calculate: (a: number, b: Integer) => bounded(Math.trunc(a * Number(b))) }
  if (operator !== 'divide') return undefined
  return { type, calculate: (a: number, b: Integer) => (Number(b) === 0 ? null : bounded(Math.trunc(a / Number(b)))) }
}

function bounded(ticks: number): number | undefined {
  return Math.abs(ticks) <= ticksMax ? ticks + 0 : undefined
}
