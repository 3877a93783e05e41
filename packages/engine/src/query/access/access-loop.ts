/** The loop over the objects of an access path, and their batches. */
import { assert } from '../../errors.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { PushRows } from '../execute/pushed-rows.ts'
import type { FilterPlan } from '../operators/filter.ts'
import type { AccessPath } from './access-path.ts'
import { batchesOfObjects, loopOfOids, type NewLoop, type ObjectScan, passAll } from './object-loop.ts'
import { distinctOids } from './oid-batch.ts'

/** `rowLimit`: how many objects are needed in the requested order. Undefined for an access that yields batches of objects only. */
export function loopOf(access: AccessPath, scan: ObjectScan, rowLimit: number | undefined): NewLoop | undefined {
  if (!('oids' in access)) return access.loop(scan, rowLimit)
  const { evaluation, context, source, filter } = scan
  // If each batch is a round trip, a few surplus entries cost less than another batch.
  const size = context.isRemote
    ? undefined
    : entryBatchSize(filter, access.conjunctsAnswered, access.isAtMostOne ? 1 : rowLimit)
  return async (consumer) => {
    const oids = access.oids(evaluation, context, source, size)
    return loopOfOids(scan, consumer, access.mayRepeat ? distinctOids(oids, context) : oids)
  }
}

export interface ObjectSource {
  readonly rows: AsyncGenerator<ObjectView[]>
  /** Pushes the objects one by one, if possible; a caller uses either this or `rows`. */
  readonly push: PushRows<ObjectView> | undefined
}

/** `toSkip`: the number of first rows of which nothing is needed. */
export function sourceOf(access: AccessPath, scan: ObjectScan, rowLimit: number | undefined, toSkip = 0): ObjectSource {
  const { context } = scan
  const newLoop = loopOf(access, scan, rowLimit)
  if (newLoop === undefined) {
    assert('objects' in access && access.objects !== undefined, 'an access path has a loop, or batches of objects')
    return { rows: access.objects(scan, rowLimit), push: undefined }
  }
  const rows = batchesOfObjects(newLoop, context, rowLimit, toSkip)
  const canPush = context.snapshot.visit !== undefined
  return { rows, push: canPush ? (consumer) => passAll(newLoop, consumer, context) : undefined }
}

const batchDefault = 256
/** Used if some entries do not qualify, so that the number needed is unknown. */
const filteredBatchMin = 32

/** The number of index entries to read for `rowLimit` rows. `answered`: conjuncts that are true for nearly every object of the entries. */
export function entryBatchSize({ conjuncts }: FilterPlan, answered: number, rowLimit: number | undefined): number {
  const isFiltered = conjuncts > answered
  return Math.min(batchDefault, Math.max(isFiltered ? filteredBatchMin : 1, rowLimit ?? batchDefault))
}
