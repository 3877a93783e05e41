/** What is measured of a curve: lines of figures over growing sizes. */
import type { Figures } from '../rows/figures.ts'
import type { Bench } from '../rows/measure.ts'
import type { Stores } from './stores.ts'

export interface Line {
  readonly name: string
  /** Of `values`. */
  readonly unit?: string
  /** One for each column; undefined where the operation is not there, or not with that size. */
  readonly figures?: readonly (Figures | undefined)[]
  /** What is no load of requests: seconds, MiB. */
  readonly values?: readonly (number | undefined)[]
  /** The most that the CPU of a request may be of that of the reference (`figures`), or that a value may be. */
  readonly most?: number
}

export interface Measurement {
  /** What the columns count. */
  readonly axis: string
  readonly columns: readonly number[]
  /** The column that the others are compared with. */
  readonly reference?: number
  readonly lines: readonly Line[]
  /** Sentences on how it was measured. */
  readonly notes: readonly string[]
  /** Clients wait: p50 and p99 are of interest. */
  readonly hasLatencies?: boolean
}

export interface MeasuredCurve extends Measurement {
  readonly name: string
  readonly title: string
  readonly date: string
  readonly commit: string
  readonly machine: string
  readonly rounds: number
  readonly seconds: number
  /** What share of the cores was at work before the measurement, from 0 to 1. */
  readonly othersBusy: number
}

export interface ScaleOptions {
  /** Of objects and links; the sizes beyond are left out. */
  readonly largest: number
  readonly rounds: number
  readonly seconds: number
}

export interface Curve {
  readonly name: string
  readonly title: string
  measure(bench: Bench, stores: Stores, options: ScaleOptions): Promise<Measurement>
}

export function upTo(largest: number, sizes: readonly number[]): number[] {
  return sizes.filter((size) => size <= largest)
}

/** CPU of a request beside that of the reference column. */
export function ratioTo({ figures }: Line, one: Figures, reference: number | undefined): number | undefined {
  const base = reference === undefined ? undefined : figures?.[reference]
  return base === undefined || base === null ? undefined : one.cpuMicroseconds / base.cpuMicroseconds
}
