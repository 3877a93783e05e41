/** Accumulators of aggregate functions, over rows one by one or over the elements of a collection. */
import { TextMap } from '../../budget/text-map.ts'
import type { AggregateName } from '../bind/bound.ts'
import type { Span } from '../language/ast.ts'
import { queryError } from '../language/query-error.ts'
import { totalOf } from '../values/arithmetic.ts'
import { compareFor, isNullOf } from '../values/compare.ts'
import type { Compare, Total } from '../values/scalars/scalar-kind.ts'
import type { ValueType } from '../values/value-type.ts'
import type { EvaluationContext } from './evaluation-context.ts'
import { elementBytes, valueBytes } from './value-bytes.ts'
import { groupKey, keyWriter, type WriteKey } from './value-key.ts'

export interface Accumulator {
  /** Nulls must not be added. False on overflow. */
  add(value: unknown): boolean
  /** `fraction`: the argument of PERCENTILE. */
  result(fraction?: unknown): unknown
  /** State from which `restore` continues. */
  save(): readonly unknown[]
  /** The accumulator must be empty. */
  restore(saved: readonly unknown[]): void
  /** Number of elements that it retains beyond a fixed size. */
  readonly retained: number
}

/** Factory of accumulators, one per group or collection. `operand`: type of the values; undefined for COUNT(). */
export function accumulatorsOf(
  name: AggregateName,
  operand: ValueType | undefined,
  isDistinct: boolean,
): () => Accumulator {
  const make = plainAccumulators(name, operand)
  if (!isDistinct || operand === undefined) return make
  const write = keyWriter(operand)
  return () => new Distinct(make(), write)
}

function plainAccumulators(name: AggregateName, operand: ValueType | undefined): () => Accumulator {
  const total = operand && totalOf(operand)
  const compare = operand && compareFor(operand, operand)
  switch (name) {
    case 'COUNT':
      return () => new Count()
    case 'SUM':
      return () => new Sum(total)
    case 'AVG':
      return total?.exactAverage === undefined ? () => new Average(total) : () => new ExactAverage(total)
    case 'MIN':
      return () => new Extreme(compare, -1)
    case 'MAX':
      return () => new Extreme(compare, 1)
    case 'COLLECT':
      return () => new Collect()
    case 'STDDEV':
      return () => new StandardDeviation()
    case 'MEDIAN':
      return () => new Percentile(0.5)
    case 'PERCENTILE':
      return () => new Percentile(undefined)
  }
}

interface Aggregated {
  readonly operandType: ValueType | undefined
  readonly type: ValueType
  readonly span: Span
}

/** Returns the approximate number of bytes that the accumulator retains in addition. Throws QueryError on overflow. */
export function addValue(
  accumulator: Accumulator,
  { operandType, type, span }: Aggregated,
  value: unknown,
  { text }: EvaluationContext,
): number {
  if (operandType !== undefined && isNullOf(operandType, value)) return 0
  const { retained } = accumulator
  if (!accumulator.add(value ?? null)) throw queryError(text, span, `the sum is beyond what an ${type.kind} holds`)
  const more = accumulator.retained - retained
  return more > 0 ? more * (elementBytes + valueBytes(value)) : 0
}

class Count implements Accumulator {
  readonly retained = 0
  private count = 0

  add(): boolean {
    this.count++
    return true
  }

  result(): number {
    return this.count
  }

  save(): readonly unknown[] {
    return [this.count]
  }

  restore([count]: readonly unknown[]): void {
    this.count = count as number
  }
}

class Sum implements Accumulator {
  readonly retained = 0
  private readonly plus: Total['add']
  private sum: unknown = null

  /** `total` is undefined where all values are null. */
  constructor(total: Total | undefined) {
    this.plus = total?.add ?? ((sum) => sum)
  }

  add(value: unknown): boolean {
    const sum = this.sum === null ? value : this.plus(this.sum, value)
    if (sum === undefined) return false
    this.sum = sum
    return true
  }

  result(): unknown {
    return this.sum
  }

  save(): readonly unknown[] {
    return [this.sum]
  }

  restore([sum]: readonly unknown[]): void {
    this.sum = sum
  }
}

class Average implements Accumulator {
  readonly retained = 0
  private readonly average: (mean: number) => unknown
  private sum = 0
  private count = 0

  /** `total` is undefined where all values are null. */
  constructor(total: Total | undefined) {
    this.average = total?.average ?? ((mean) => mean)
  }

  add(value: unknown): boolean {
    this.sum += Number(value)
    this.count++
    return true
  }

  result(): unknown {
    return this.count === 0 ? null : this.average(this.sum / this.count)
  }

  save(): readonly unknown[] {
    return [this.sum, this.count]
  }

  restore([sum, count]: readonly unknown[]): void {
    this.sum = sum as number
    this.count = count as number
  }
}

class ExactAverage implements Accumulator {
  readonly retained = 0
  private readonly total: Total
  private readonly sum: Sum
  private count = 0

  constructor(total: Total) {
    this.total = total
    this.sum = new Sum(total)
  }

  add(value: unknown): boolean {
    this.count++
    return this.sum.add(value)
  }

  result(): unknown {
    return this.count === 0 ? null : this.total.exactAverage?.(this.sum.result(), this.count)
  }

  save(): readonly unknown[] {
    return [this.count, ...this.sum.save()]
  }

  restore([count, ...sum]: readonly unknown[]): void {
    this.count = count as number
    this.sum.restore(sum)
  }
}

class Extreme implements Accumulator {
  readonly retained = 0
  private readonly compare: Compare
  private readonly sign: number
  private extreme: unknown = null

  /** `sign`: 1 for the maximum, -1 for the minimum. */
  constructor(compare: Compare | undefined, sign: 1 | -1) {
    this.compare = compare ?? (() => 0)
    this.sign = sign
  }

  add(value: unknown): boolean {
    if (this.extreme === null || this.compare(value, this.extreme) * this.sign > 0) this.extreme = value
    return true
  }

  result(): unknown {
    return this.extreme
  }

  save(): readonly unknown[] {
    return [this.extreme]
  }

  restore([extreme]: readonly unknown[]): void {
    this.extreme = extreme
  }
}

class Collect implements Accumulator {
  private values: unknown[] = []

  get retained(): number {
    return this.values.length
  }

  add(value: unknown): boolean {
    this.values.push(value)
    return true
  }

  result(): unknown {
    return this.values
  }

  save(): readonly unknown[] {
    return [this.values]
  }

  restore([values]: readonly unknown[]): void {
    this.values = values as unknown[]
  }
}

/** Adds each distinct value once. */
class Distinct implements Accumulator {
  private readonly values: Accumulator
  private readonly writers: readonly WriteKey[]
  private readonly seen = new TextMap<true>()

  constructor(values: Accumulator, write: WriteKey) {
    this.values = values
    this.writers = [write]
  }

  get retained(): number {
    return this.seen.size + this.values.retained
  }

  add(value: unknown): boolean {
    const key = groupKey(this.writers, [value])
    if (this.seen.has(key)) return true
    this.seen.set(key, true)
    return this.values.add(value)
  }

  result(fraction?: unknown): unknown {
    return this.values.result(fraction)
  }

  save(): readonly unknown[] {
    return [[...this.seen.keys()], this.values.save()]
  }

  restore([keys, values]: readonly unknown[]): void {
    for (const key of keys as readonly string[]) this.seen.set(key, true)
    this.values.restore(values as readonly unknown[])
  }
}

/** Sample standard deviation in one pass (Welford), which is numerically stable. */
class StandardDeviation implements Accumulator {
  readonly retained = 0
  private count = 0
  private mean = 0
  private squares = 0

  add(value: unknown): boolean {
    const number = Number(value)
    const distance = number - this.mean
    this.count++
    this.mean += distance / this.count
    this.squares += distance * (number - this.mean)
    return true
  }

  result(): unknown {
    return this.count < 2 ? null : Math.sqrt(this.squares / (this.count - 1))
  }

  save(): readonly unknown[] {
    return [this.count, this.mean, this.squares]
  }

  restore([count, mean, squares]: readonly unknown[]): void {
    this.count = count as number
    this.mean = mean as number
    this.squares = squares as number
  }
}

/** Interpolates linearly between the two nearest values; retains all values. */
class Percentile implements Accumulator {
  private values: number[] = []
  private readonly fraction: number | undefined

  /** Undefined: `result` receives the fraction. */
  constructor(fraction: number | undefined) {
    this.fraction = fraction
  }

  get retained(): number {
    return this.values.length
  }

  add(value: unknown): boolean {
    this.values.push(Number(value))
    return true
  }

  save(): readonly unknown[] {
    return [this.values]
  }

  restore([values]: readonly unknown[]): void {
    this.values = values as number[]
  }

  result(argument?: unknown): unknown {
    const fraction = this.fraction ?? argument
    const { length } = this.values
    if (length === 0 || typeof fraction !== 'number') return null
    // Sorts NaN last.
    const numbers = Float64Array.from(this.values).sort()
    if (Number.isNaN(numbers[length - 1])) return Number.NaN
    const rank = fraction * (length - 1)
    const below = Math.floor(rank)
    const low = numbers[below] as number
    if (rank === below) return low
    return low + ((numbers[below + 1] as number) - low) * (rank - below)
  }
}
