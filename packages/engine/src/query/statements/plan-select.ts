/** FROM … RETURN and LOOKUP, planned: how the objects are found, and what is done with their rows. */
import type { RecordFormats } from '../../records/record-formats.ts'
import { planObjects, type SourcePlan } from '../access/source-plan.ts'
import type { BoundSelect } from '../bind/bind-select.ts'
import { Compiler } from '../evaluate/compile-expression.ts'
import { type ClausesPlan, planClauses } from '../operators/clauses.ts'
import type { Planning } from '../operators/planning.ts'
import type { ValueType } from '../values/value-type.ts'

export interface SelectPlan {
  readonly objects: SourcePlan
  readonly clauses: ClausesPlan
  readonly slots: number
  readonly constants: number
  readonly rowType: ValueType
  readonly isSingle: boolean
}

export function planSelect(bound: BoundSelect, slots: number, formats: RecordFormats, text: string): SelectPlan {
  const planning: Planning = { formats, text, compiler: new Compiler(formats) }
  const objects = planObjects(bound.source, bound.slot, bound.clauses, planning)
  const clauses = planClauses(bound.clauses, planning)
  const { rowType, isSingle } = bound
  return { objects, clauses, slots, constants: planning.compiler.constants, rowType, isSingle }
}
