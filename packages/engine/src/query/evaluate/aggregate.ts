/** COUNT, SUM, AVG, MIN, MAX and COLLECT: over rows one by one, or over the elements of one collection. */
import type { AggregateName } from '../bind/bound.ts'
import { calculateWhole, type Whole } from '../functions/whole-number.ts'
import type { Compare } from '../values/compare.ts'
import type { ValueType } from '../values/value-type.ts'

export interface Accumulator {
  /** Nulls do not count. False on overflow. */
  add(value: unknown): boolean
  result(): unknown
  /** What it holds in memory beyond a fixed size, in elements. */
  readonly held: number
}

export function accumulatorFor(name: AggregateName, compare: Compare | undefined, type: ValueType): Accumulator {
  switch (name) {
    case 'COUNT':
      return new Count()
    case 'SUM':
      return new Sum(type.kind === 'integer')
    case 'AVG':
      return new Average(type.kind === 'interval')
    case 'MIN':
      return new Extreme(compare, -1)
    case 'MAX':
      return new Extreme(compare, 1)
    case 'COLLECT':
      return new Collect()
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
}

class Sum implements Accumulator {
  readonly held = 0
  private readonly isWhole: boolean
  private sum: Whole | null = null

  constructor(isWhole: boolean) {
    this.isWhole = isWhole
  }

  add(value: unknown): boolean {
    if (this.sum === null) {
      this.sum = value as Whole
      return true
    }
    const sum = this.isWhole ? calculateWhole('plus', this.sum, value as Whole) : Number(this.sum) + Number(value)
    if (sum === undefined) return false
    this.sum = sum
    return true
  }

  result(): Whole | null {
    return this.sum
  }
}

class Average implements Accumulator {
  readonly held = 0
  private readonly isInterval: boolean
  private sum = 0
  private count = 0

  constructor(isInterval: boolean) {
    this.isInterval = isInterval
  }

  add(value: unknown): boolean {
    this.sum += Number(value)
    this.count++
    return true
  }

  result(): number | null {
    if (this.count === 0) return null
    const average = this.sum / this.count
    return this.isInterval ? Math.trunc(average) : average
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
}

class Collect implements Accumulator {
  private readonly values: unknown[] = []

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
}
