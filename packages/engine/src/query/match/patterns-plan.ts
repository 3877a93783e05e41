/** The plan of the patterns of a MATCH, and the positions of their edges. */
import type { BoundPattern } from '../bind/bind-match.ts'
import type { Planning } from '../operators/planning.ts'
import type { PredicatePlan } from './predicates.ts'
import type { VertexPlan } from './vertices.ts'

/** What is searched for. */
export interface PatternsPlan {
  readonly vertices: readonly VertexPlan[]
  readonly patterns: readonly BoundPattern[]
  /** Of MATCH itself. */
  readonly predicates: readonly PredicatePlan[]
  readonly optional: readonly OptionalPlan[]
  readonly slots: number
  /** For what is planned when the data is there. */
  readonly planning: Planning
}

/** An OPTIONAL MATCH: its patterns and vertices go on to those of the next one. */
export interface OptionalPlan {
  readonly firstPattern: number
  readonly firstVertex: number
  readonly predicates: readonly PredicatePlan[]
  /** Where a row says which one of those before it is. */
  readonly ordinalSlot: number
}

export interface EdgePlace {
  readonly patternNumber: number
  readonly edgeNumber: number
}

/** Positions of the vertices at its left and its right. */
export function endsOf({ patterns }: PatternsPlan, { patternNumber, edgeNumber }: EdgePlace): [number, number] {
  const { vertices: positions } = patterns[patternNumber] as BoundPattern
  return [positions[edgeNumber] as number, positions[edgeNumber + 1] as number]
}
