/** Verified reads of an environment: checks checksums, the order of keys and the bounds of ranges. Never returns a damaged entry. */
import { AshlarError } from '../../errors.ts'
import type { Bytes } from '../store.ts'
import { type EntryChecks, longValueBytes } from './entry-checks.ts'
import {
  borrowedBytes,
  borrowedPrefix,
  dataViewOf,
  type EntryCursor,
  noteValueBuffer,
  readToBuffer,
  sharedValueBuffer,
  valueDataView,
} from './entry-cursor.ts'
import type { LeafEnd } from './leaf-reader.ts'
import { putBackLeaves, takeLeaves } from './leaves-of-pin.ts'
import type { Environment } from './lmdb-js.ts'
import { type LmdbRange, rangeAfter, withLimit } from './lmdb-range.ts'
import { type Pin, withCursor } from './read-pins.ts'

/**
 * The value of the key as a view that the next read overwrites; undefined if there is none. Without a pin, reads in the current write transaction.
 * With one, the neighbouring entries prove absence: if the key, or a branch key leading past it, were damaged, so would one of them be. Throws
 * DataCorruption.
 */
export function borrowedValue(
  environment: Environment,
  key: Bytes,
  checks: EntryChecks,
  pin?: Pin,
): Buffer | undefined {
  if (pin !== undefined && checks.hasChecksums) {
    const stored = readToBuffer(environment, key, pin.transaction)
    const length = stored < 0 ? -1 : checks.valueLength(key, sharedValueBuffer(), stored, valueDataView())
    if (length >= 0) return borrowedPrefix(length)
  }
  let found: Buffer | undefined
  try {
    found = environment.getBinaryFast(key, pin)
  } catch (error) {
    throw checks.translateError(error)
  }
  if (found === undefined) {
    // Most preconditions of commits are absences, and a proof would cost more than the rest of such a commit.
    if (pin === undefined) return undefined
    withCursor(environment, pin, (cursor) => {
      checkNeighbour(cursor, key, true, true, checks)
      checkNeighbour(cursor, key, false, true, checks)
    })
    return undefined
  }
  noteValueBuffer(found)
  // The buffer is larger than its property `length` says.
  const length = checks.valueLength(key, found, found.length, dataViewOf(found))
  if (length < 0) throw checks.damaged(key, checksumFault)
  return borrowedBytes(found, length)
}

/** Verifies the entry next to the key, on one side. Throws DataCorruption. */
function checkNeighbour(
  cursor: EntryCursor,
  key: Bytes,
  isBefore: boolean,
  isExclusive: boolean,
  checks: EntryChecks,
): void {
  try {
    if (!cursor.start(key, isBefore, isExclusive)) return
  } catch (error) {
    throw checks.translateError(error)
  }
  const { key: found, value } = cursor
  if (value === undefined || !checks.isKeyIntact(found, value, value.length))
    throw checks.damaged(Buffer.from(found), checksumFault)
  if (!follows(key, key.length, found, isBefore, isExclusive)) throw checks.damaged(Buffer.from(found), orderFault)
}

/**
 * Passes the borrowed entries of a range to `use` until it returns false; `use` must not read. Without a pin, reads in the current write transaction.
 * Returns the key after which the range continues; undefined at its end. Throws DataCorruption, also if only keys are required, since damage may be
 * in a key, and if an entry adjacent to the range is damaged, which may have been within. With `onDamage`, damaged entries are skipped instead.
 */
export function visitEntries(
  environment: Environment,
  range: LmdbRange,
  checks: EntryChecks,
  pin: Pin | undefined,
  use: EntryUse | EntryCounter,
  onDamage?: (error: AshlarError) => void,
): Bytes | undefined {
  return withCursor(environment, pin, (cursor) => {
    const { reverse, start, exclusiveStart, isContinued } = range
    if (start !== undefined && pin !== undefined && !isContinued && onDamage === undefined)
      checkNeighbour(cursor, start, !reverse, !exclusiveStart, checks)
    try {
      const mayBeMany = environment.dataFile !== undefined && checks.hasChecksums
      if (!mayBeMany || pin === undefined || onDamage !== undefined)
        return visit(cursor, range, checks, entryUseOf(use), onDamage)
      return visitMany(environment, cursor, range, checks, pin, use)
    } catch (error) {
      const damage = checks.translateError(error)
      if (onDamage === undefined || !(damage instanceof AshlarError) || damage === error) throw damage
      onDamage(damage)
      return undefined
    }
  })
}

/** Counts the entries of a range like `visitEntries`; entries read leaf by leaf are not materialized. */
export function countEntries(
  environment: Environment,
  range: LmdbRange,
  checks: EntryChecks,
  pin: Pin,
): { readonly count: number; readonly last: Bytes | undefined } {
  const counter = new EntryCounter()
  const last = visitEntries(environment, range, checks, pin, counter)
  return { count: counter.count, last }
}

class EntryCounter {
  count = 0
  readonly use = (): boolean => {
    this.count++
    return true
  }
}

type EntryUse = (key: Buffer, value: Buffer) => unknown

/** Entries read by the cursor before switching to leaves: finding the first leaf takes as long as a few dozen entries. */
const entriesByCursor = 64
/** Up to this limit the rest is not worth reading a leaf. */
const fewEntries = 2 * entriesByCursor

/** Reads by the cursor, then leaf by leaf if there are many entries, and by the cursor again where a leaf is unreadable. */
function visitMany(
  environment: Environment,
  cursor: EntryCursor,
  range: LmdbRange,
  checks: EntryChecks,
  pin: Pin,
  use: EntryUse | EntryCounter,
): Bytes | undefined {
  const entryUse = entryUseOf(use)
  let rest = range
  let isByCursor = !range.isContinued
  for (;;) {
    if (isByCursor) {
      const limit = rest.limit <= fewEntries ? rest.limit : entriesByCursor
      const last = visit(cursor, withLimit(rest, limit), checks, entryUse, undefined)
      const isAborted = cursor.visited < limit
      if (last === undefined || isAborted || limit === rest.limit) return last
      rest = rangeAfter(rest, last, rest.limit - limit) as LmdbRange
    }
    const leaves = takeLeaves(environment, pin)
    if (leaves === null) return visit(cursor, rest, checks, entryUse, undefined)
    let end: LeafEnd
    try {
      end = leaves.visit(rest, use instanceof EntryCounter ? undefined : use)
    } finally {
      putBackLeaves(pin, leaves)
    }
    if (use instanceof EntryCounter) use.count += leaves.visited
    if (end !== 'lost') return end === 'end' ? undefined : leaves.last
    if (leaves.visited > 0) rest = rangeAfter(rest, leaves.last, rest.limit - leaves.visited) as LmdbRange
    isByCursor = true
  }
}

function entryUseOf(use: EntryUse | EntryCounter): EntryUse {
  return use instanceof EntryCounter ? use.use : use
}

/** Detects the end here instead of in LMDB, so that the entry after the range is verified. */
function visit(
  cursor: EntryCursor,
  range: LmdbRange,
  checks: EntryChecks,
  use: (key: Buffer, value: Buffer) => unknown,
  onDamage: ((error: AshlarError) => void) | undefined,
): Bytes | undefined {
  const { reverse, limit, start, end, exclusiveStart, isContinued } = range
  let previous = start
  let previousLength = start === undefined ? 0 : start.length
  let isAfter = exclusiveStart
  let visited = 0
  // Offset of the byte that proved the previous entry to be in range; an entry that shares it is in range too.
  let decisive = Number.POSITIVE_INFINITY
  const isFirstThere =
    isContinued && start !== undefined && onDamage === undefined
      ? startBehind(cursor, start, reverse, checks)
      : cursor.start(start, reverse, exclusiveStart)
  for (let isThere = isFirstThere; isThere; isThere = cursor.next()) {
    const { key, value } = cursor
    const length = value === undefined ? -1 : intactLength(key, value, range, checks)
    const shared = previous === undefined ? 0 : sharedBytes(previous, previousLength, key)
    const order = previous === undefined ? -1 : orderAt(shared, previous, previousLength, key)
    const isInOrder = order === 0 ? !isAfter : previous === undefined || order < 0 !== reverse
    if (length < 0 || !isInOrder) {
      const error = checks.damaged(Buffer.from(key), length < 0 ? checksumFault : orderFault)
      if (onDamage === undefined) throw error
      onDamage(error)
      continue
    }
    if (end !== undefined && shared <= decisive) {
      decisive = sharedBytes(key, key.length, end)
      if (isPastEnd(decisive, key, range, end)) return undefined
      if (decisive === Math.min(key.length, end.length)) decisive = Number.POSITIVE_INFINITY
    }
    previous = cursor.keepKey(visited === 0 ? 0 : shared)
    previousLength = key.length
    isAfter = true
    if (use(key, cursor.valueOf(length)) === false || ++visited === limit) {
      cursor.visited = visited
      return Buffer.from(previous.subarray(0, previousLength))
    }
  }
  return undefined
}

/**
 * Continues after an entry read before. It must exist unless the branches leading to it are damaged, which could skip other entries too: branch keys
 * have no checksums. Throws DataCorruption.
 */
function startBehind(cursor: EntryCursor, key: Bytes, reverse: boolean, checks: EntryChecks): boolean {
  if (!cursor.has(key)) throw checks.damaged(Buffer.from(key), orderFault)
  return cursor.start(key, reverse, true)
}

/** Length of the value without its checksum, or 0 if the entry is past the range; -1 if it is damaged. */
function intactLength(key: Bytes, value: Buffer, range: LmdbRange, checks: EntryChecks): number {
  const { end } = range
  if (
    value.length < longValueBytes ||
    end === undefined ||
    !isPastEnd(sharedBytes(key, key.length, end), key, range, end)
  )
    return checks.valueLength(key, value, value.length, valueDataView())
  return checks.isKeyIntact(key, value, value.length) ? 0 : -1
}

const checksumFault = 'its checksum does not fit'
const orderFault = 'it is not at its place in the order of keys'

function isPastEnd(shared: number, key: Bytes, { inclusiveEnd, reverse }: LmdbRange, end: Bytes): boolean {
  const order = orderAt(shared, key, key.length, end)
  return order === 0 ? !inclusiveEnd : order > 0 !== reverse
}

function follows(previous: Bytes, previousLength: number, key: Bytes, reverse: boolean, isAfter: boolean): boolean {
  const order = orderAt(sharedBytes(previous, previousLength, key), previous, previousLength, key)
  return order === 0 ? !isAfter : order < 0 !== reverse
}

/** Length of the common prefix. Keys are short and neighbours share most of their bytes, so this is faster than `Buffer.compare`. */
function sharedBytes(one: Bytes, oneLength: number, other: Bytes): number {
  const length = Math.min(oneLength, other.length)
  for (let at = 0; at < length; at++) if (one[at] !== other[at]) return at
  return length
}

/** `shared`: length of the common prefix. */
function orderAt(shared: number, one: Bytes, oneLength: number, other: Bytes): number {
  return shared < oneLength && shared < other.length
    ? (one[shared] as number) - (other[shared] as number)
    : oneLength - other.length
}
