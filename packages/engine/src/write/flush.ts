/** Turns the changed objects of an operation into writes of its transaction: records and index entries. */
import { AshlarError } from '../errors.ts'
import { hasEntriesToCheck, maintainIndexes, maintainIndexesOf, putNewEntries } from '../indexes/maintain.ts'
import { checkPendingTypes } from '../records/check-pending-types.ts'
import { encodeLongRecord, isLongRecord, revisionPrefixOf } from '../records/record-format.ts'
import type { Awaitable, Bytes } from '../store/store.ts'
import { openTimeSlice, runYieldingIfLong, yieldToNewWork } from '../store/time-slice.ts'
import type { ChangeGuard } from './change-guard.ts'
import { checkLinks } from './check-links.ts'
import { checkConstraints, violationTo } from './constraint-error.ts'
import { drawNumbers } from './draw-numbers.ts'
import { evaluateValues, evaluateWithin } from './evaluate-values.ts'
import type { UnitOfWork } from './unit-of-work.ts'
import { isChanged, type ObjectState } from './working-set.ts'

/** Throws DeleteRestricted, ConstraintViolation, UniqueViolation, Forbidden. */
export function flushObjects(unit: UnitOfWork): Promise<void> {
  const { deletions, objects, changedLinks } = unit
  if (deletions !== undefined || changedLinks !== undefined || objects.lacking.length > 0) return flushLinked(unit)
  return flush(unit)
}

/** Deletions come first, since they may cause more deletions; then the link changes of all objects. */
async function flushLinked(unit: UnitOfWork): Promise<void> {
  await unit.deletions?.carryOut()
  if (!unit.isUnchecked) await checkLinks(unit)
  await flush(unit)
}

function flush(unit: UnitOfWork): Promise<void> {
  const { objects } = unit
  return objects.mayDraw || objects.isEvaluatedWithin
    ? evaluateFirst(unit, objects.all()).then(() => flushChanged(unit))
    : flushChanged(unit)
}

/** What may take longer than the rest of a flush. */
async function evaluateFirst(unit: UnitOfWork, states: Iterable<ObjectState>): Promise<void> {
  const { objects, isUnchecked } = unit
  if (objects.mayDraw && !isUnchecked) await drawNumbers(unit, states)
  const slice = openTimeSlice()
  for (const state of states) {
    if (state.isDeleted || !isChanged(state) || state.format.evaluatedWithin.length === 0) continue
    // Decoding a long record and applying the changes have used up a time slice.
    if (state.stored !== undefined && isLongRecord(state.stored)) await yieldToNewWork()
    try {
      const evaluated = runYieldingIfLong(evaluateWithin(state, unit), slice)
      if (evaluated !== undefined) await evaluated
    } catch (error) {
      throw withPosition(state, error)
    }
    const pause = slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
}

function flushChanged(unit: UnitOfWork): Promise<void> {
  const only = unit.guard === undefined ? unit.objects.only : undefined
  return only === undefined ? flushAll(unit) : flushOne(unit, only)
}

/** `flushAll` without its passes over all objects, since most requests change one. */
async function flushOne(unit: UnitOfWork, state: ObjectState): Promise<void> {
  const { transaction } = unit
  const { key, format, stored, isDeleted } = state
  if (!isChanged(state) && !isDeleted) return
  const checked = format.isChecked && !isDeleted ? check(unit, state) : undefined
  if (checked !== undefined) await checked
  if (stored !== undefined) transaction.requireRevision(key, revisionPrefixOf(stored))
  const maintained = maintainIndexesOf(transaction, state)
  if (maintained !== undefined) await maintained
  // Deletions also consume commit IDs, so that the same changes have the same IDs in every version.
  const written = write(unit, state, unit.session.nextCommitId())
  if (written !== undefined) await written
}

/** Deletes the record, or puts it. Throws LimitExceeded. */
function write(unit: UnitOfWork, state: ObjectState, commitId: Bytes): Promise<void> | undefined {
  unit.recorder?.object(state)
  if (!state.isDeleted) {
    const record = encoded(state, commitId)
    return record instanceof Promise ? record.then((one) => put(unit, state, one)) : put(unit, state, record)
  }
  unit.transaction.delete(state.key, state.stored)
  return undefined
}

/** Yields between objects when the time slice is used up, since each may be large. */
async function flushAll(unit: UnitOfWork): Promise<void> {
  const { transaction, objects, guard } = unit
  const slice = openTimeSlice()
  const indexed: ObjectState[] = []
  let [seen, written] = [0, 0]
  for (const state of objects.all()) {
    const { key, format, stored, isDeleted } = state
    if (!isChanged(state) && !isDeleted) continue
    if (format.isChecked && !isDeleted) await checkAsSeen(unit, state)
    if (stored !== undefined) transaction.requireRevision(key, revisionPrefixOf(stored))
    if (hasEntriesToCheck(state)) indexed.push(state)
    const pause = ++seen % stepsPerClockCheck === 0 || format.isChecked ? slice.yieldIfDue() : undefined
    if (pause !== undefined) await pause
  }
  let violation: AshlarError | undefined
  if (guard !== undefined) violation = await violationIn(unit, guard, indexed)
  else if (indexed.length > 0) await maintainIndexes(transaction, indexed)
  const commitId = unit.session.nextCommitId()
  for (const state of objects.all()) {
    const writing = state.isDeleted || isChanged(state) ? write(unit, state, commitId) : undefined
    if (writing !== undefined) await writing
    const pause = ++written === 1 ? undefined : slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
  if (guard !== undefined) await guard.checkWritten()
  if (violation !== undefined) throw violation
}

/** An access violation takes precedence over a unique violation, which could reveal hidden objects. */
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

/** Each step takes less than a microsecond if it reads no values. */
const stepsPerClockCheck = 128

function put({ transaction }: UnitOfWork, state: ObjectState, record: Buffer): Promise<void> | undefined {
  if (state.stored !== undefined) {
    transaction.put(state.key, record, state.stored)
    return undefined
  }
  const entered = putNewEntries(transaction, state)
  transaction.putOwn(state.key, record)
  return entered
}

/** Throws ValueNotAllowed, ConstraintViolation. Synchronous if no links are counted. */
function check(unit: UnitOfWork, state: ObjectState): Promise<void> | undefined {
  try {
    const { formats } = unit.objects
    if (state.format.hasProperties) evaluateValues(state, unit)
    if (unit.isUnchecked) return undefined
    if (state.format.hasPendingType) checkPendingTypes(state.format, state.before, state.values, formats)
    return checkConstraints(state, unit)?.catch((error: unknown) => {
      throw withPosition(state, error)
    })
  } catch (error) {
    throw withPosition(state, error)
  }
}

/** `check`, with errors as the caller may see them. */
async function checkAsSeen(unit: UnitOfWork, state: ObjectState): Promise<void> {
  const { guard } = unit
  try {
    const checked = check(unit, state)
    if (checked !== undefined) await checked
  } catch (error) {
    throw guard === undefined ? error : await violationTo(guard, state, error)
  }
}

/** Encodes the record. Throws LimitExceeded. */
function encoded(state: ObjectState, commitId: Bytes): Awaitable<Buffer> {
  try {
    const record = encodeLongRecord(state.format, commitId, state)
    if (!(record instanceof Promise)) return record
    return record.catch((error: unknown) => {
      throw withPosition(state, error)
    })
  } catch (error) {
    throw withPosition(state, error)
  }
}

/** Adds the position of the command to an error in one of several commands. */
function withPosition({ position }: ObjectState, error: unknown): unknown {
  return position !== undefined && error instanceof AshlarError ? error.within(position) : error
}
