/** The plan of FROM with several sources: their access paths, the predicates, and the operators on the joined rows. */
import type { RecordFormats } from '../../records/record-formats.ts'
import { planObjects } from '../access/source-plan.ts'
import type { BoundJoin, BoundJoinSource } from '../bind/bind-join.ts'
import { noClauses } from '../bind/bind-select.ts'
import { Compiler } from '../evaluate/compile-expression.ts'
import { type ClausesPlan, planClauses } from '../operators/clauses.ts'
import type { Planning } from '../operators/planning.ts'
import { statementsPlan } from '../operators/row-statements.ts'
import type { ValueType } from '../values/value-type.ts'
import type { JoinedPlan, JoinSource } from './join-order.ts'
import { conjunction, dependsOnlyOn, type PredicatePlan, planPredicates } from './predicates.ts'

export interface JoinPlan extends JoinedPlan {
  readonly clauses: ClausesPlan
  readonly constants: number
  readonly rowType: ValueType
  readonly isSingle: boolean
}

export function planJoin(bound: BoundJoin, slots: number, formats: RecordFormats, text: string): JoinPlan {
  const planning: Planning = { formats, text, compiler: new Compiler(formats) }
  const { clauses, rowType, isSingle } = bound
  const slotsOfSources = new Set(bound.sources.map(({ slot }) => slot))
  const predicates = planPredicates(clauses.where === undefined ? [] : [clauses.where], slotsOfSources, planning)
  const sources = bound.sources.map((source) => planSource(source, predicates, planning))
  const clausesPlan = planClauses(clauses, planning)
  const { constants } = planning.compiler
  return { sources, predicates, planning, slots, clauses: clausesPlan, constants, rowType, isSingle }
}

function planSource(source: BoundJoinSource, predicates: readonly PredicatePlan[], planning: Planning): JoinSource {
  const { slot, name } = source
  if (source.kind === 'rows') {
    const { rows, isWrapped, isMany, statements } = source
    return {
      kind: 'rows',
      slot,
      name,
      isWrapped,
      statements: statementsPlan(statements),
      isMany,
      rows: planning.compiler.compile(rows),
    }
  }
  const where = conjunction(predicates.filter((predicate) => dependsOnlyOn(predicate, slot)).map(({ bound }) => bound))
  const objects = planObjects(source.source, slot, { ...noClauses, where }, planning)
  return { kind: 'objects', slot, name, source: source.source, objects }
}
