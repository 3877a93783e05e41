/** The part on growth: the same rows on stores of very different sizes, in turns. */
import { ashlar } from '../contenders/ashlar.ts'
import type { Bench } from '../rows/measure.ts'
import { type KindsOptions, type Measured, measureKinds } from './measure-kinds.ts'

export function measureGrowth(bench: Bench, sizes: readonly number[], options: KindsOptions): Promise<Measured> {
  const entrants = sizes.map((objects) => ({ kind: ashlar({ name: objects.toLocaleString('en') }), objects }))
  return measureKinds(bench, entrants, options)
}
