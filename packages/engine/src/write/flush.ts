/** Turns the changed objects of an operation into writes of its transaction: records and index entries. */
import { type IndexedChange, maintainIndexes } from '../indexes/maintain.ts'
import { checkChangingValues } from '../records/changing-values.ts'
import { encodeRecord, revisionPrefixOf } from '../records/record-format.ts'
import { openTimeSlice } from '../store/time-slice.ts'
import type { UnitOfWork } from './unit-of-work.ts'
import { isChanged } from './working-set.ts'

/** Between two objects, of which each may be large, others have their turn where it is time; one alone looks at no clock. Throws UniqueViolation. */
export async function flushObjects(unit: UnitOfWork): Promise<void> {
  const { transaction, objects } = unit
  const slice = openTimeSlice()
  const indexed: IndexedChange[] = []
  let [seen, written] = [0, 0]
  for (const state of objects.all()) {
    const { oid, key, format, stored, before, values, changed, isDeleted } = state
    if (!isChanged(state) && !isDeleted) continue
    if (format.isChanging && !isDeleted) checkChangingValues(format, before, values, objects.formats)
    if (stored !== undefined) transaction.expectRevision(key, revisionPrefixOf(stored))
    if (format.cls.indexes.length > 0) {
      indexed.push({ oid, format, before, after: isDeleted ? undefined : values, changed })
    }
    const breath = ++seen === 1 ? undefined : slice.breath()
    if (breath !== undefined) await breath
  }
  if (indexed.length > 0) await maintainIndexes(transaction, indexed)
  const stamp = unit.nextStamp()
  for (const state of objects.all()) {
    if (state.isDeleted) transaction.delete(state.key)
    else if (isChanged(state)) transaction.put(state.key, encodeRecord(state.format, stamp, state))
    if (state.isDeleted || isChanged(state)) unit.recorder?.object(state)
    const breath = ++written === 1 ? undefined : slice.breath()
    if (breath !== undefined) await breath
  }
}
