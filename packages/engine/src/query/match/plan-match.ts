/** MATCH as it is planned: the vertices with their access paths, the patterns, the predicates, and what is done with the rows. */
import type { RecordFormats } from '../../records/record-formats.ts'
import type { BoundMatch } from '../bind/bind-match.ts'
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
  const given = [...vertices.flatMap(({ where }) => where), ...(clauses.where === undefined ? [] : [clauses.where])]
  const predicates = planPredicates(given, patternSlots, planning)
  const plans = vertices.map((vertex) => planVertex(vertex, predicates, planning))
  const clausesPlan = planClauses(clauses, planning)
  const { constants } = planning.compiler
  return { vertices: plans, patterns, predicates, slots, clauses: clausesPlan, constants, rowType, isSingle }
}
