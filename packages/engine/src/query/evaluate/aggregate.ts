/** COUNT, SUM, AVG, MIN, MAX and COLLECT: over rows one by one, or over the elements of one collection. */
import { TextMap } from '../../budget/text-map.ts'
import type { AggregateName } from '../bind/bound.ts'
import { totalOf } from '../values/arithmetic.ts'
import { compareFor } from '../values/compare.ts'
import type { Compare, Total } from '../values/scalars/scalar-kind.ts'
import type { ValueType } from '../values/value-type.ts'
import { groupKey, keyWriter, type WriteKey } from './value-key.ts'

export interface Accumulator {
  /** Nulls do not count. False on overflow. */
  add(value: unknown): boolean
  /** `fraction`: of PERCENTILE. */
  result(fraction?: unknown): unknown
  /** What it has come to, for another one to go on from. */
  save(): readonly unknown[]
  /** To an accumulator that was given nothing yet. */
  restore(saved: readonly unknown[]): void
  /** What it holds in memory beyond a fixed size, in elements. */
  readonly held: number
}

/** Makes one for each group, or each collection. `operand`: the type of the values; undefined for COUNT(). */
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

class Count implements Accumulator {
  readonly held = 0
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
  readonly held = 0
  private readonly plus: Total['add']
  private sum: unknown = null

  /** `total`: undefined where there are nulls only. */
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
  readonly held = 0
  private readonly average: (mean: number) => unknown
  private sum = 0
  private count = 0

  /** `total`: undefined where there are nulls only. */
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
  readonly held = 0
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
  readonly held = 0
  private readonly compare: Compare
  private readonly sign: number
  private extreme: unknown = null

  /** `sign`: 1 for the greatest, -1 for the least. */
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

  get held(): number {
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

/** Each value once. */
class Distinct implements Accumulator {
  private readonly values: Accumulator
  private readonly writers: readonly WriteKey[]
  private readonly seen = new TextMap<true>()

  constructor(values: Accumulator, write: WriteKey) {
    this.values = values
    this.writers = [write]
  }

  get held(): number {
    return this.seen.size + this.values.held
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

/** Of a sample; in one pass (Welford), whatever the size of the numbers. */
class StandardDeviation implements Accumulator {
  readonly held = 0
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

/** Between the two nearest values in proportion; all of them are kept. */
class Percentile implements Accumulator {
  private values: number[] = []
  private readonly fraction: number | undefined

  /** Undefined: that of `result`. */
  constructor(fraction: number | undefined) {
    this.fraction = fraction
  }

  get held(): number {
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

  result(given?: unknown): unknown {
    const fraction = this.fraction ?? given
    const { length } = this.values
    if (length === 0 || typeof fraction !== 'number') return null
    // NaN last.
    const numbers = Float64Array.from(this.values).sort()
    if (Number.isNaN(numbers[length - 1])) return Number.NaN
    const place = fraction * (length - 1)
    const below = Math.floor(place)
    const low = numbers[below] as number
    if (place === below) return low
    return low + ((numbers[below + 1] as number) - low) * (place - below)
  }
}
