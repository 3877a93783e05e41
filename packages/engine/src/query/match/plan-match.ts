/** MATCH as it is planned: the vertices with their access paths, the patterns, the predicates, and what is done with the rows. */
import type { RecordFormats } from '../../records/record-formats.ts'
import { type BoundMatch, innerVertices } from '../bind/bind-match.ts'
import { Compiler } from '../evaluate/compile-expression.ts'
import { type ClausesPlan, planClauses } from '../operators/clauses.ts'
import type { Planning } from '../operators/planning.ts'
import type { ValueType } from '../values/value-type.ts'
import { planPredicates } from './predicates.ts'
import type { PatternsPlan } from './search-order.ts'
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
  const inPatterns = vertices.flatMap(({ where }) => where)
  const predicates = [
    ...planPredicates(inPatterns, patternSlots, planning, true),
    ...planPredicates(clauses.where === undefined ? [] : [clauses.where], patternSlots, planning),
  ]
  const chosenFrom = new Set(patterns.flatMap((one) => (one.selection === undefined ? [] : innerVertices(one))))
  const plans = vertices.map((vertex, position) => {
    // What is asked behind WHERE is asked of the paths that were chosen.
    const known = chosenFrom.has(position) ? predicates.filter(({ isOfPattern }) => isOfPattern) : predicates
    return planVertex(vertex, known, planning)
  })
  const clausesPlan = planClauses(clauses, planning)
  const { constants } = planning.compiler
  return { vertices: plans, patterns, predicates, slots, clauses: clausesPlan, constants, rowType, isSingle }
}
