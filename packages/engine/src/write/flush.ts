/** Turns the changed objects of an operation into writes of its transaction: records and index entries. */
import { type IndexedChange, maintainIndexes } from '../indexes/maintain.ts'
import { checkChangingValues } from '../records/changing-values.ts'
import { encodeRecord, revisionPrefixOf } from '../records/record-format.ts'
import { openTimeSlice } from '../store/time-slice.ts'
import type { UnitOfWork } from './unit-of-work.ts'
import { isChanged } from './working-set.ts'

/** Of many objects it writes some at a time, with turns for others in between. Throws UniqueViolation. */
export async function flushObjects(unit: UnitOfWork): Promise<void> {
  const { transaction, objects } = unit
  const slice = openTimeSlice()
  const indexed: IndexedChange[] = []
  let seen = 0
  for (const state of objects.all()) {
    const { oid, key, format, stored, before, values, changed, isDeleted } = state
    if (!isChanged(state) && !isDeleted) continue
    if (format.isChanging && !isDeleted) checkChangingValues(format, before, values, objects.formats)
    if (stored !== undefined) transaction.expectRevision(key, revisionPrefixOf(stored))
    if (format.cls.indexes.length > 0) {
      indexed.push({ oid, format, before, after: isDeleted ? undefined : values, changed })
    }
    if (++seen % objectsBetweenLooks === 0) await slice.breath()
  }
  if (indexed.length > 0) await maintainIndexes(transaction, indexed)
  const stamp = unit.nextStamp()
  let written = 0
  for (const state of objects.all()) {
    if (state.isDeleted) transaction.delete(state.key)
    else if (isChanged(state)) transaction.put(state.key, encodeRecord(state.format, stamp, state))
    if (++written % objectsBetweenLooks === 0) await slice.breath()
  }
}

/** Objects that are written before the next look at the clock. */
const objectsBetweenLooks = 100
