/** The qualifying objects of a source, read by the chosen access path. */

import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import { filterOperator } from '../operators/filter.ts'
import { type ObjectSource, sourceOf } from './access-loop.ts'
import type { AccessPath } from './access-path.ts'
import type { ChosenAccessPath } from './choose-access.ts'
import type { ObjectScan } from './object-loop.ts'
import { areRowsInOrder, type SourcePlan } from './source-plan.ts'

interface ObjectRows extends ObjectSource {
  readonly operator: ExplainNode
}

/** Batches of qualifying objects. `rowLimit`: how many are needed in the requested order. `skipped`: how many of these to skip unread. */
export function objectRows(
  plan: SourcePlan,
  chosen: Omit<ChosenAccessPath, 'estimated'> & { readonly estimated: number | undefined },
  evaluation: EvaluationContext,
  context: StatementContext,
  rowLimit: number | undefined,
  skipped = 0,
): ObjectRows {
  const { access, considered } = chosen
  const { filter, classes } = plan
  const source = access.describe(plan.className)
  if (considered?.isDeferred !== true && chosen.estimated !== undefined) source.estimated = chosen.estimated
  if (considered !== undefined) source.candidates = considered.candidates(plan, access)
  const filtered = filterOperator(filter, source)
  // Entries include objects hidden from the caller.
  const isPartial = context.script.capabilities.isPartial === true
  const usesEntriesOnly = plan.isExistenceOnly && !isPartial && isAnsweredBy(access, plan)
  const areRows = usesEntriesOnly || (!isPartial && areRowsInOrder(plan, access))
  const { entries } = access
  const scan: ObjectScan = { classes, entries, filter, evaluation, context, source, filterOperator: filtered, areRows }
  const { rows, push } = sourceOf(access, scan, rowLimit, usesEntriesOnly ? Number.POSITIVE_INFINITY : skipped)
  const operator = filtered ?? source
  if (considered?.isScanOfMany === true) {
    const hint = plan.hint(rowLimit)
    if (hint !== undefined) operator.hint = hint
  }
  return { rows: context.measured(rows, operator), push, operator }
}

/** Whether its OIDs are exactly the qualifying objects, without duplicates. */
function isAnsweredBy(access: AccessPath, { filter, classes, cls }: SourcePlan): boolean {
  if (!('oids' in access) || access.isExact !== true || access.mayRepeat) return false
  return access.conjunctsAnswered === filter.conjuncts && classes.classes.length === cls.subclasses.length + 1
}
