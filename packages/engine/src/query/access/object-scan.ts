/** Reads the objects of an access path and filters them by class and by the whole predicate. */
import type { ClassSet } from '../../schema/class-set.ts'
import { ReadSkew } from '../../store/read-skew.ts'
import type { Oid } from '../../types/oid.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import { type FilterPlan, filterObjects } from '../operators/filter.ts'

export interface ObjectScan {
  readonly classes: ClassSet
  readonly filter: FilterPlan
  readonly evaluation: EvaluationContext
  readonly context: StatementContext
  /** The name of the entries from which OIDs are read, whose objects must exist; undefined if objects may be missing. */
  readonly entries: string | undefined
  /** The access path and, if present, the filter. */
  readonly source: ExplainNode
  readonly filterOperator: ExplainNode | undefined
  /** The number of first rows to skip without reading. */
  readonly unseen?: number | undefined
}

/** The objects of the OIDs from an access path; `mayRepeat`: OIDs may occur more than once. */
export async function* fetchObjects(
  scan: ObjectScan,
  batches: AsyncIterable<Oid[]>,
  mayRepeat: boolean,
): AsyncGenerator<ObjectView[]> {
  const { context } = scan
  const seen = mayRepeat ? new Set<Oid>() : undefined
  for await (const batch of batches) {
    const oids = seen === undefined ? batch : batch.filter((oid) => !seen.has(oid))
    if (seen !== undefined) {
      context.hold(0, oids.length * 64)
      for (const oid of oids) seen.add(oid)
    }
    // Does not use `loadInParts`, since each level of generators adds microtask delays.
    for (const part of context.reader.parts(oids.length < 2 ? oids : [...new Set(oids)])) {
      const rows = await loadAndFilter(scan, part)
      if (rows.length > 0) yield rows
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }
}

/** Loads only few large objects at a time. */
export async function* loadInParts(scan: ObjectScan, oids: readonly Oid[]): AsyncGenerator<ObjectView[]> {
  let isFirst = true
  for (const part of scan.context.reader.parts(oids)) {
    const pause = isFirst ? undefined : scan.context.yieldIfDue()
    if (pause !== undefined) await pause
    isFirst = false
    const rows = await loadAndFilter(scan, part)
    if (rows.length > 0) yield rows
  }
}

/** Throws ReadSkew if an entry refers to a missing object. */
async function loadAndFilter(scan: ObjectScan, oids: readonly Oid[]): Promise<ObjectView[]> {
  const { classes, entries, filter, evaluation, context, source } = scan
  const loaded = await context.reader.load(oids)
  source.returned += oids.length
  context.touched(oids.length)
  const views: ObjectView[] = []
  for (const [i, view] of loaded.entries()) {
    if (view?.format === undefined) {
      if (entries !== undefined) throw new ReadSkew(`${entries} names object ${oids[i]}, which is not there`)
    } else if (classes.numbers.has(view.format.cls.number)) views.push(view)
  }
  const { recordPredicate, slot } = filter
  const decided =
    recordPredicate === undefined ? views : filterObjects(views, recordPredicate, slot, evaluation, context)
  return filterRest(scan, decided instanceof Promise ? await decided : decided, views.length)
}

/** Evaluates conditions that need more than the record. `examined`: the number of objects before filtering. */
export async function filterRest(
  { filter, evaluation, context, filterOperator }: ObjectScan,
  views: readonly ObjectView[],
  examined: number,
): Promise<ObjectView[]> {
  const { rest, slot } = filter
  let rows = views as ObjectView[]
  if (rest !== undefined && views.length > 0) {
    const left = filterObjects(views, rest, slot, evaluation, context)
    rows = left instanceof Promise ? await left : left
  }
  if (filterOperator !== undefined) {
    filterOperator.examined += examined
    filterOperator.returned += rows.length
  }
  return rows
}

const batchDefault = 256
/** Used if some entries do not qualify, so that the number needed is unknown. */
const filteredBatchMin = 32

/** The number of index entries to read for `rowLimit` rows. `answered`: conjuncts that are true for nearly every object of the entries. */
export function entryBatchSize({ conjuncts }: FilterPlan, answered: number, rowLimit: number | undefined): number {
  const isFiltered = conjuncts > answered
  return Math.min(batchDefault, Math.max(isFiltered ? filteredBatchMin : 1, rowLimit ?? batchDefault))
}
