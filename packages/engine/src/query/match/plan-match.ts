/** The plan of MATCH: vertices with their access paths, patterns, predicates, and the operators on the matches. */
import type { RecordFormats } from '../../records/record-formats.ts'
import { type BoundMatch, innerVertices } from '../bind/bind-match.ts'
import type { Bound } from '../bind/bound.ts'
import { Compiler } from '../evaluate/compile-expression.ts'
import { type ClausesPlan, planClauses } from '../operators/clauses.ts'
import type { Planning } from '../operators/planning.ts'
import type { ValueType } from '../values/value-type.ts'
import type { PatternsPlan } from './patterns-plan.ts'
import { type PredicatePlan, planPredicates } from './predicates.ts'
import { planVertex } from './vertices.ts'

export interface MatchPlan extends PatternsPlan {
  readonly clauses: ClausesPlan
  readonly constants: number
  readonly rowType: ValueType
  readonly isSingle: boolean
}

export function planMatch(bound: BoundMatch, slots: number, formats: RecordFormats, text: string): MatchPlan {
  const planning: Planning = { formats, text, compiler: new Compiler(formats) }
  const { vertices, patterns, clauses, rowType, isSingle } = bound
  const patternSlots = new Set([
    ...vertices.map(({ slot }) => slot),
    ...patterns.flatMap(({ slot, edges }) => [slot, ...edges.map((edge) => edge.slot)]),
  ])
  const predicatesOf = (inPatterns: readonly Bound[], where: readonly Bound[]): PredicatePlan[] => [
    ...planPredicates(inPatterns, patternSlots, planning, true),
    ...planPredicates(where, patternSlots, planning),
  ]
  const ends = [...bound.optional.map((one) => one.firstVertex), vertices.length]
  const conditions = (from: number, end = vertices.length): Bound[] =>
    vertices.slice(from, end).flatMap(({ where }) => where)
  const own = predicatesOf(conditions(0, ends[0]), clauses.where === undefined ? [] : [clauses.where])
  const optional = bound.optional.map(({ firstPattern, firstVertex, inPatterns, where }, i) => ({
    firstPattern,
    firstVertex,
    ordinalSlot: slots + i,
    predicates: predicatesOf([...conditions(firstVertex, ends[i + 1]), ...inPatterns], where),
  }))
  const predicatesAt = (position: number): readonly PredicatePlan[] => {
    return optional.findLast(({ firstVertex }) => firstVertex <= position)?.predicates ?? own
  }
  const chosenFrom = new Set(patterns.flatMap((one) => (one.selection === undefined ? [] : innerVertices(one))))
  const plans = vertices.map((vertex, position) => {
    // Conditions of WHERE apply to the selected paths only.
    const predicates = predicatesAt(position)
    const applicable = chosenFrom.has(position) ? predicates.filter(({ isInPattern }) => isInPattern) : predicates
    return planVertex(vertex, applicable, planning)
  })
  const clausesPlan = planClauses(clauses, planning)
  const { constants } = planning.compiler
  const all = slots + optional.length
  return {
    vertices: plans,
    patterns,
    predicates: own,
    optional,
    slots: all,
    planning,
    clauses: clausesPlan,
    constants,
    rowType,
    isSingle,
  }
}
