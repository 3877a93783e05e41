/** The plan of the patterns of a MATCH, and the positions of their edges. */
import type { BoundPattern } from '../bind/bind-match.ts'
import type { Planning } from '../operators/planning.ts'
import type { PredicatePlan } from './predicates.ts'
import type { VertexPlan } from './vertices.ts'

export interface PatternsPlan {
  readonly vertices: readonly VertexPlan[]
  readonly patterns: readonly BoundPattern[]
  /** Predicates of the MATCH itself, without predicates of OPTIONAL MATCH. */
  readonly predicates: readonly PredicatePlan[]
  readonly optional: readonly OptionalPlan[]
  readonly slots: number
  /** For lookups that are planned at run time. */
  readonly planning: Planning
}

/** An OPTIONAL MATCH; its patterns and vertices extend to the first ones of the next part. */
export interface OptionalPlan {
  readonly firstPattern: number
  readonly firstVertex: number
  readonly predicates: readonly PredicatePlan[]
  /** Slot of the number of the input row. */
  readonly ordinalSlot: number
}

export interface EdgePlace {
  readonly patternNumber: number
  readonly edgeNumber: number
}

/** Positions of the left and the right vertex. */
export function endsOf({ patterns }: PatternsPlan, { patternNumber, edgeNumber }: EdgePlace): [number, number] {
  const { vertices: positions } = patterns[patternNumber] as BoundPattern
  return [positions[edgeNumber] as number, positions[edgeNumber + 1] as number]
}
