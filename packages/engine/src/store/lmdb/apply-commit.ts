/** Applies one commit within a write transaction: synchronously or, if it is large, in slices with yields in between. */
import { checkInSlices, type EntrySizeLimits } from '../check-commit.ts'
import { type CurrentState, failedPrecondition, holds, UnchangedCheck } from '../check-preconditions.ts'
import { DamagedEntry } from '../damaged-entry.ts'
import { detachBytes } from '../detach-bytes.ts'
import {
  PackedChanges,
  PackedPreconditions,
  type PackedRows,
  packedLengthAt,
  packedLengthBytes,
} from '../packed-rows.ts'
import type { Awaitable, Bytes, Change, Commit, CommitOutcome, KeyRange, Precondition } from '../store.ts'
import {
  bytesPerClockCheck,
  inSlices,
  openTimeSlice,
  runToEnd,
  runYielding,
  stepsPerClockCheck,
  type TimeSlice,
} from '../time-slice.ts'
import { Appender } from './appender.ts'
import { BorrowedKey } from './borrowed-key.ts'
import { borrowedValue, visitEntries } from './checked-entries.ts'
import { EntryChecks } from './entry-checks.ts'
import { borrowedPartWithChecksum, borrowedWithChecksum } from './entry-checksum.ts'
import { fillingOrder, orderedMin, type PutRow, putInFillingOrder } from './filling-order.ts'
import type { TailCache } from './kept-tail.ts'
import { nameOfCommit } from './last-transaction.ts'
import { pauseWriting } from './lmdb-internals.ts'
import type { Environment } from './lmdb-js.ts'
import { lmdbRange } from './lmdb-range.ts'

/** Changes and expected keys of a commit that is applied synchronously: some milliseconds of work. */
const syncOperationsMax = 2_000
/** Bytes that are written, or read for preconditions, synchronously: likewise. */
export const syncBytesMax = 4_194_304

type Applied = CommitOutcome | DamagedEntry

/** Whether the commit must be applied in slices, by its declared sizes. */
export function isLarge({ changes, preconditions, append }: Commit): boolean {
  let operations = changes.length + preconditions.length
  if (operations > syncOperationsMax) return true
  for (const precondition of preconditions) {
    if (precondition.kind === 'range') operations += precondition.keys.length
    else if (precondition.kind === 'unchanged') operations += precondition.count
  }
  if (operations > syncOperationsMax) return true
  let bytes = 0
  for (const { length } of append?.values ?? []) bytes += length
  for (const change of changes) if (change.kind === 'put') bytes += change.value.length
  return bytes > syncBytesMax
}

/**
 * Checks all preconditions before making changes, since lmdb-js does not undo the changes of a failed commit. Returns `tooLarge`, with nothing
 * changed, if the values read for preconditions are so large that slices are needed. `state`: of the group.
 */
export function applyCommit(
  environment: Environment,
  { preconditions, changes, append, isAppended, lastCommit }: Commit,
  state: WriteTransactionState,
): Applied | typeof tooLarge {
  try {
    state.beginCommit(syncBytesMax, lastCommit)
    const failed = failedPrecondition(preconditions, state)
    if (failed !== undefined) return { isCommitted: false, failed }
  } catch (error) {
    if (error === tooLarge) return tooLarge
    if (error instanceof DamagedEntry) return error
    throw error
  }
  for (const change of isAppended === true || changes.length < orderedMin ? changes : runToEnd(fillingOrder(changes))) {
    state.noteWritten(change.key)
    applyChange(environment, change)
  }
  if (append !== undefined) for (const change of state.appender.append(append)) applyChange(environment, change)
  return { isCommitted: true }
}

/**
 * Like `applyCommit`, but yields. The write transaction stays open and blocks other writers; readers see the previous state. A key or value out of
 * bounds fails an assertion, with nothing changed.
 */
export async function applyInSlices(
  environment: Environment,
  commit: Commit,
  limits: EntrySizeLimits,
  state: WriteTransactionState,
): Promise<Applied> {
  const slice = sliceWithReads(environment)
  await checkInSlices(commit, limits, slice)
  const { preconditions, changes, append, isAppended, lastCommit } = commit
  state.beginCommit(Number.POSITIVE_INFINITY, lastCommit)
  let failed: Precondition | undefined
  try {
    const check = (part: Precondition, precondition: Precondition): number | false => {
      const before = state.bytes
      const charged = part.kind === 'range' ? part.keys.length * bytesChargedPerKey : 0
      if (holds(part, state)) return state.bytes - before + charged
      failed = precondition
      return false
    }
    const checkAll = (precondition: Precondition): Awaitable<unknown> => {
      if (precondition.kind === 'unchanged' && precondition.count > keysPerStep && !state.isUnchanged) {
        const steps = stepsOf(new UnchangedCheck(precondition, state))
        const examine = (isUnchanged: boolean | undefined): number => {
          if (isUnchanged === false) failed = precondition
          return bytesPerClockCheck
        }
        return inSlices(steps, examine, slice).then(() => failed === undefined)
      }
      if (precondition.kind !== 'range' || precondition.keys.length <= keysPerStep)
        return check(precondition, precondition)
      return inSlices(partsOf(precondition), (part) => check(part, precondition), slice).then(
        () => failed === undefined,
      )
    }
    if (preconditions instanceof PackedPreconditions) {
      await inSlices(preconditions.others, checkAll, slice)
      if (failed === undefined) failed = await runYielding(firstPresentKey(preconditions.all, state), slice)
    } else await inSlices(preconditions, checkAll, slice)
  } catch (error) {
    if (error instanceof DamagedEntry) return error
    throw error
  }
  if (failed !== undefined) return { isCommitted: false, failed }
  const change = (one: Change): number => {
    state.noteWritten(one.key)
    return applyChange(environment, one)
  }
  if (changes instanceof PackedChanges)
    await runYielding(putInFillingOrder(changes, rowPutter(environment, state, changes.all)), slice)
  else await inSlices(isAppended === true ? changes : await runYielding(fillingOrder(changes), slice), change, slice)
  const appended = (one: Change): number => {
    const bytes = change(one)
    // As with packed rows: a large commit's values are not needed after writing.
    if (one.kind === 'put') detachBytes(one.value)
    return bytes
  }
  if (append !== undefined) await inSlices(state.appender.append(append), appended, slice)
  return { isCommitted: true }
}

/** Returns the bytes written. */
function applyChange(environment: Environment, change: Change): number {
  if (change.kind === 'put') {
    environment.put(change.key, borrowedWithChecksum(change.key, change.value))
    return change.value.length
  }
  environment.remove(change.key)
  return 0
}

/** The first of these keys that exists, as a failed precondition. */
function* firstPresentKey(
  all: readonly PackedRows[],
  state: WriteTransactionState,
): Generator<undefined, Precondition | undefined, undefined> {
  const borrowedKey = new BorrowedKey(longestKey(all))
  let steps = 0
  for (const { keys } of all) {
    for (let at = 0; at < keys.length; at += packedLengthBytes + packedLengthAt(keys, at)) {
      const key = borrowedKey.at(keys, at)
      if (!state.isAbsent(key)) return { kind: 'absent', key: Buffer.from(key) }
      if (++steps % stepsPerClockCheck === 0) yield
    }
  }
  return undefined
}

function rowPutter(environment: Environment, state: WriteTransactionState, all: readonly PackedRows[]): PutRow {
  const borrowedKey = new BorrowedKey(longestKey(all))
  return ({ keys, values }, keyAt, valueAt) => {
    const key = borrowedKey.at(keys, keyAt)
    const bytes = packedLengthAt(values, valueAt)
    state.noteWritten(key)
    environment.put(key, borrowedPartWithChecksum(key, values, valueAt + packedLengthBytes, bytes))
    return bytes
  }
}

function longestKey(all: readonly PackedRows[]): number {
  return all.reduce((most, { keyBytesMost }) => Math.max(most, keyBytesMost), 0)
}

/** A time slice that lets reads bypass the write transaction during yields. */
function sliceWithReads(environment: Environment): TimeSlice {
  const slice = openTimeSlice()
  return {
    get isOver() {
      return slice.isOver
    },
    yieldIfDue() {
      const pause = slice.yieldIfDue()
      return pause === undefined ? undefined : pauseWriting(environment, pause)
    },
  }
}

/** Yields the results of the check, up to the conclusive one. */
function* stepsOf(check: UnchangedCheck): Generator<boolean | undefined> {
  for (;;) {
    const isUnchanged = check.isDone(keysPerStep)
    yield isUnchanged
    if (isUnchanged !== undefined) return
  }
}

/** Number of keys checked without a yield. */
const keysPerStep = 500
/** So many keys take as long as reading the bytes after which the clock is checked. */
const bytesChargedPerKey = Math.ceil(bytesPerClockCheck / keysPerStep)

/** Divides the precondition into equivalent ones with fewer keys. */
function* partsOf(precondition: Extract<Precondition, { readonly kind: 'range' }>): Generator<Precondition> {
  const { keys, range } = precondition
  for (let at = 0; at < keys.length; at += keysPerStep) {
    const from = at === 0 ? range.from : keys[at]
    const to = keys[at + keysPerStep] ?? range.to
    const bounds = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
    yield { ...precondition, range: bounds, keys: keys.slice(at, at + keysPerStep) }
  }
}

const namelessChecks = new EntryChecks('checked')

/** Maximum size of the value cached for the group. */
const cachedBytesMax = 64

/** Returned for a commit that must be restarted in slices. */
export const tooLarge = Symbol('a commit expects too much to be applied synchronously')

/**
 * Reads of the write transaction, which see the changes of earlier commits of the group. The first value read is cached for the group: every commit
 * begins with a read of the same one, the version of the schema.
 */
export class WriteTransactionState implements CurrentState {
  /** Bytes of values read for the commit so far. */
  bytes = 0
  readonly appender: Appender
  private readonly environment: Environment
  private readonly transaction: number
  private hasWritten = false
  private lastCommit: string | undefined
  private bytesMax = Number.POSITIVE_INFINITY
  private cachedKey: Bytes | undefined
  private cachedValue: Bytes | undefined

  /** `transaction`: its number. */
  constructor(environment: Environment, transaction: number, tails: TailCache) {
    this.environment = environment
    this.transaction = transaction
    this.appender = new Appender(environment, transaction, tails)
  }

  /** Makes `get` throw `tooLarge` after `bytesMax`. `lastCommit`: see `Commit`. */
  beginCommit(bytesMax: number, lastCommit: string | undefined): void {
    this.bytes = 0
    this.bytesMax = bytesMax
    this.lastCommit = lastCommit
  }

  get isUnchanged(): boolean {
    if (this.hasWritten || this.lastCommit === undefined) return false
    return this.lastCommit === nameOfCommit(this.environment, this.transaction - 1)
  }

  get(key: Bytes): Bytes | undefined {
    if (this.bytes > this.bytesMax) throw tooLarge
    if (key === this.cachedKey) return this.cachedValue
    this.appender.flushFor(key)
    const value = borrowedValue(this.environment, key, namelessChecks)
    if (value === undefined) return undefined
    this.bytes += value.length
    if (this.cachedKey === undefined && value.length <= cachedBytesMax) {
      this.cachedKey = key
      this.cachedValue = Buffer.from(value)
    }
    return value
  }

  /** Does not retain the key, which may be borrowed. */
  isAbsent(key: Bytes): boolean {
    this.appender.flushFor(key)
    return borrowedValue(this.environment, key, namelessChecks) === undefined
  }

  /** Must be called before any commit of the group writes a key. */
  noteWritten(key: Bytes): void {
    this.hasWritten = true
    this.appender.flushFor(key)
    const { cachedKey } = this
    if (cachedKey !== undefined && key.length === cachedKey.length && Buffer.compare(key, cachedKey) === 0) {
      this.cachedKey = undefined
    }
  }

  /** Must be called once, after all commits of the group, whatever their outcomes. */
  end(): void {
    this.appender.end()
  }

  keys(range: KeyRange, limit: number): Iterable<Bytes> {
    const keys: Bytes[] = []
    this.visitUpTo(range, limit, (key) => keys.push(Buffer.from(key)) > 0)
    return keys
  }

  visit(range: KeyRange, use: (key: Bytes, value: Bytes) => boolean): Bytes | undefined {
    return this.visitUpTo(range, Number.POSITIVE_INFINITY, (key, value) => {
      this.bytes += value.length
      return use(key, value)
    })
  }

  private visitUpTo(range: KeyRange, limit: number, use: (key: Bytes, value: Bytes) => boolean): Bytes | undefined {
    this.appender.flushForRange(range)
    const bounds = lmdbRange(range, false, limit)
    return bounds && visitEntries(this.environment, bounds, namelessChecks, undefined, use)
  }
}
