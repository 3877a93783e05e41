/** The qualifying objects of a source, read by the chosen access path. */

import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { ValuesView } from '../evaluate/values-view.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import { filterOperator } from '../operators/filter.ts'
import { entryBatchSize, type ObjectSource, sourceOf } from './access-loop.ts'
import type { AccessPath, OidAccess } from './access-path.ts'
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
  const areRows = !isPartial && areRowsInOrder(plan, access)
  const { entries } = access
  const scan: ObjectScan = { classes, entries, filter, evaluation, context, source, filterOperator: filtered, areRows }
  const usesEntriesOnly = plan.isExistenceOnly && !isPartial && isAnsweredBy(access, plan)
  const { rows, push } = usesEntriesOnly
    ? { rows: unseenObjects(scan, access, rowLimit), push: undefined }
    : sourceOf(access, scan, rowLimit, skipped)
  const operator = filtered ?? source
  if (considered?.isScanOfMany === true) {
    const hint = plan.hint(rowLimit)
    if (hint !== undefined) operator.hint = hint
  }
  return { rows: context.measured(rows, operator), push, operator }
}

/** Whether its OIDs are exactly the qualifying objects, without duplicates. */
function isAnsweredBy(access: AccessPath, { filter, classes, cls }: SourcePlan): access is OidAccess {
  if (!('oids' in access) || access.isExact !== true || access.mayRepeat) return false
  return access.conjunctsAnswered === filter.conjuncts && classes.classes.length === cls.subclasses.length + 1
}

const unseen = new ValuesView([])

/** For objects of which no value is needed. */
async function* unseenObjects(
  { filter, evaluation, context, source, filterOperator }: ObjectScan,
  access: OidAccess,
  rowLimit: number | undefined,
): AsyncGenerator<ObjectView[]> {
  const size = entryBatchSize(filter, access.conjunctsAnswered, rowLimit)
  for await (const { count } of access.oids(evaluation, context, source, size)) {
    source.returned += count
    if (filterOperator !== undefined) {
      filterOperator.examined += count
      filterOperator.returned += count
    }
    yield new Array<ObjectView>(count).fill(unseen)
  }
}
