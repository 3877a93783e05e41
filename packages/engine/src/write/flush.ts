/** Turns the changed objects of an operation into writes of its transaction: records and index entries. */
import { SteadyList } from '../budget/steady-list.ts'
import { type IndexedChange, maintainIndexes } from '../indexes/maintain.ts'
import { checkPendingTypes } from '../records/check-pending-types.ts'
import { encodeRecord, encodeRecordInPieces, revisionPrefixOf } from '../records/record-format.ts'
import { inTurns, openTimeSlice } from '../store/time-slice.ts'
import type { UnitOfWork } from './unit-of-work.ts'
import { isChanged } from './working-set.ts'

/** Between two objects, of which each may be large, others have their turn where it is time; one alone looks at no clock. Throws UniqueViolation. */
export async function flushObjects(unit: UnitOfWork): Promise<void> {
  const { transaction, objects } = unit
  const slice = openTimeSlice()
  const indexed = new SteadyList<IndexedChange>()
  let [seen, written] = [0, 0]
  for (const state of objects.all()) {
    const { oid, key, format, stored, before, values, changed, isDeleted } = state
    if (!isChanged(state) && !isDeleted) continue
    if (format.hasPendingType && !isDeleted) checkPendingTypes(format, before, values, objects.formats)
    if (stored !== undefined) transaction.requireRevision(key, revisionPrefixOf(stored))
    if (format.cls.indexes.length > 0) {
      indexed.push({ oid, format, before, after: isDeleted ? undefined : values, changed })
    }
    const pause = ++seen === 1 ? undefined : slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
  if (indexed.length > 0) await maintainIndexes(transaction, indexed.all())
  const commitId = unit.session.nextCommitId()
  for (const state of objects.all()) {
    if (state.isDeleted) transaction.delete(state.key)
    else if (isChanged(state)) {
      const { format, values } = state
      const pieces = format.isLong(values) ? encodeRecordInPieces(format, commitId, state) : undefined
      const record = pieces === undefined ? encodeRecord(format, commitId, state) : await inTurns(pieces, slice)
      transaction.put(state.key, record)
    }
    if (state.isDeleted || isChanged(state)) unit.recorder?.object(state)
    const pause = ++written === 1 ? undefined : slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
}
