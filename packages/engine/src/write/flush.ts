/** Turns the changed objects of an operation into writes of its transaction: records and index entries. */
import { AshlarError } from '../errors.ts'
import { hasEntriesToCheck, maintainIndexes, maintainIndexesOf, putNewEntries } from '../indexes/maintain.ts'
import { checkPendingTypes } from '../records/check-pending-types.ts'
import { encodeRecord, revisionPrefixOf } from '../records/record-format.ts'
import type { RecordFormats } from '../records/record-formats.ts'
import type { Bytes } from '../store/store.ts'
import { openTimeSlice } from '../store/time-slice.ts'
import type { ChangeGuard } from './change-guard.ts'
import { checkLinks } from './check-links.ts'
import { checkConstraints, violationTo } from './constraint-error.ts'
import type { DeferredChecks, UnitOfWork } from './unit-of-work.ts'
import { isChanged, type ObjectState } from './working-set.ts'

/** Throws DeleteRestricted, ConstraintViolation, UniqueViolation, Forbidden. */
export function flushObjects(unit: UnitOfWork): Promise<void> {
  const { deletions, objects, changedLinks } = unit
  if (deletions !== undefined || changedLinks !== undefined || objects.lacking.length > 0) return flushLinked(unit)
  return flush(unit)
}

/** Deletions come first, since more may follow from them; then what they and others have left of links. */
async function flushLinked(unit: UnitOfWork): Promise<void> {
  await unit.deletions?.carryOut()
  await checkLinks(unit)
  await flush(unit)
}

function flush(unit: UnitOfWork): Promise<void> {
  const only = unit.guard === undefined ? unit.objects.only : undefined
  return only === undefined ? flushAll(unit) : flushOne(unit, only)
}

/** What `flushAll` does, without its passes over all objects: most requests change one. */
async function flushOne(unit: UnitOfWork, state: ObjectState): Promise<void> {
  const { transaction, objects } = unit
  const { key, format, stored, isDeleted } = state
  if (!isChanged(state) && !isDeleted) return
  if (format.isChecked && !isDeleted) check(state, objects.formats, unit.deferred)
  if (stored !== undefined) transaction.requireRevision(key, revisionPrefixOf(stored))
  const maintained = maintainIndexesOf(transaction, state)
  if (maintained !== undefined) await maintained
  // Deletions are counted, too: the same changes then have the same IDs in each version.
  write(unit, state, unit.session.nextCommitId())
}

/** Deletes the record, or puts it. Throws LimitExceeded. */
function write(unit: UnitOfWork, state: ObjectState, commitId: Bytes): void {
  if (state.isDeleted) unit.transaction.delete(state.key, state.stored)
  else put(unit, state, encoded(state, commitId))
  unit.recorder?.object(state)
}

/** Between two objects, of which each may be large, others have their turn where it is time. */
async function flushAll(unit: UnitOfWork): Promise<void> {
  const { transaction, objects, guard } = unit
  const slice = openTimeSlice()
  const indexed: ObjectState[] = []
  let [seen, written] = [0, 0]
  for (const state of objects.all()) {
    const { key, format, stored, isDeleted } = state
    if (!isChanged(state) && !isDeleted) continue
    if (format.isChecked && !isDeleted) {
      const refusal = refusalOf(state, objects.formats, unit.deferred)
      if (refusal !== undefined) throw guard === undefined ? refusal : await violationTo(guard, state, refusal)
    }
    if (stored !== undefined) transaction.requireRevision(key, revisionPrefixOf(stored))
    if (hasEntriesToCheck(state)) indexed.push(state)
    const pause = ++seen % stepsBetweenLooks === 0 || format.isChecked ? slice.yieldIfDue() : undefined
    if (pause !== undefined) await pause
  }
  let violation: AshlarError | undefined
  if (guard !== undefined) violation = await violationIn(unit, guard, indexed)
  else if (indexed.length > 0) await maintainIndexes(transaction, indexed)
  const commitId = unit.session.nextCommitId()
  for (const state of objects.all()) {
    if (state.isDeleted || isChanged(state)) write(unit, state, commitId)
    const pause = ++written === 1 ? undefined : slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
  if (guard !== undefined) await guard.checkWritten()
  if (violation !== undefined) throw violation
}

/** What may not be written is refused for that, whether its key is taken or not: which of the two it is may tell of what is hidden. */
async function violationIn(
  { transaction }: UnitOfWork,
  guard: ChangeGuard,
  indexed: Iterable<ObjectState>,
): Promise<AshlarError | undefined> {
  try {
    await maintainIndexes(transaction, indexed, guard)
    return undefined
  } catch (error) {
    if (error instanceof AshlarError && error.type === 'UniqueViolation') return error
    throw error
  }
}

/** Steps of less than a microsecond, where no values are looked at. */
const stepsBetweenLooks = 128

function put({ transaction }: UnitOfWork, state: ObjectState, record: Buffer): void {
  if (state.stored === undefined) {
    putNewEntries(transaction, state)
    transaction.putOwn(state.key, record)
  } else transaction.put(state.key, record, state.stored)
}

function refusalOf(state: ObjectState, formats: RecordFormats, deferred: DeferredChecks | undefined): unknown {
  try {
    check(state, formats, deferred)
    return undefined
  } catch (error) {
    return error
  }
}

/** Throws ValueNotAllowed, ConstraintViolation. */
function check(state: ObjectState, formats: RecordFormats, deferred: DeferredChecks | undefined): void {
  try {
    if (state.format.hasPendingType) checkPendingTypes(state.format, state.before, state.values, formats)
    checkConstraints(state, formats, deferred)
  } catch (error) {
    throw ofState(state, error)
  }
}

/** The record. Throws LimitExceeded. */
function encoded(state: ObjectState, commitId: Bytes): Buffer {
  try {
    return encodeRecord(state.format, commitId, state)
  } catch (error) {
    throw ofState(state, error)
  }
}

/** An error in what one of several commands creates is told with its position. */
function ofState({ position }: ObjectState, error: unknown): unknown {
  return position !== undefined && error instanceof AshlarError ? error.within(position) : error
}
