/** The qualifying objects of a source, read by the chosen access path. */

import type { Oid } from '../../types/oid.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { ValuesView } from '../evaluate/values-view.ts'
import type { PushRows } from '../execute/pushed-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import { filterOperator } from '../operators/filter.ts'
import type { AccessPath, OidAccess } from './access-path.ts'
import type { ChosenAccessPath } from './choose-access.ts'
import { entryBatchSize, fetchObjects, type ObjectScan } from './object-scan.ts'
import { pushRows } from './push-objects.ts'
import { areRowsInOrder, type SourcePlan } from './source-plan.ts'

interface ObjectRows {
  readonly rows: AsyncGenerator<ObjectView[]>
  /** Pushes the objects one by one, if possible; a caller uses either this or `rows`. */
  readonly push: PushRows<ObjectView> | undefined
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
  const entries = 'oids' in access ? access.entries : undefined
  // Entries include objects hidden from the caller.
  const isPartial = context.script.capabilities.isPartial === true
  const unseen = !isPartial && areRowsInOrder(plan, access) ? skipped : 0
  const scan: ObjectScan = { classes, entries, filter, evaluation, context, source, filterOperator: filtered, unseen }
  const usesEntriesOnly = plan.isExistenceOnly && !isPartial && isAnsweredBy(access, plan)
  const rows = 'oids' in access ? objectsOf(access, scan, rowLimit, usesEntriesOnly) : access.objects(scan, rowLimit)
  const push = pushRows(access, scan)
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

function objectsOf(
  access: OidAccess,
  scan: ObjectScan,
  rowLimit: number | undefined,
  usesEntriesOnly: boolean,
): AsyncGenerator<ObjectView[]> {
  const { evaluation, context, source } = scan
  // If each batch is a round trip, a few surplus entries cost less than another batch.
  const batch = context.isRemote ? undefined : entryBatchSize(scan.filter, access.conjunctsAnswered, rowLimit)
  const oids = access.oids(evaluation, context, source, batch)
  return usesEntriesOnly ? unseenObjects(scan, oids) : fetchObjects(scan, oids, access.mayRepeat)
}

const unseen = new ValuesView([])

/** For objects of which no value is needed. */
async function* unseenObjects(
  { source, filterOperator }: ObjectScan,
  batches: AsyncIterable<Oid[]>,
): AsyncGenerator<ObjectView[]> {
  for await (const { length } of batches) {
    source.returned += length
    if (filterOperator !== undefined) {
      filterOperator.examined += length
      filterOperator.returned += length
    }
    yield new Array<ObjectView>(length).fill(unseen)
  }
}
