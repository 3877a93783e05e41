/** Reads of an environment that let no damaged entry through: checksums, and keys in order and within their range. */
import { AshlarError } from '../../errors.ts'
import type { Bytes } from '../store.ts'
import type { EntryChecks } from './entry-checks.ts'
import type { Environment, ReadTransaction } from './lmdb-js.ts'
import type { LmdbRange } from './lmdb-range.ts'

/** The transaction that reads; without it, the write transaction that is under way. */
type ReadOptions = { readonly transaction: ReadTransaction } | undefined

/**
 * The value of the key, as a view that the next read overwrites; undefined where there is none. To a snapshot the entries
 * around its place prove that: were the key, or one on the page that led past it, damaged, one of them would be. Throws
 * DataCorruption.
 */
export function lentValue(
  environment: Environment,
  key: Bytes,
  checks: EntryChecks,
  options?: ReadOptions,
): Buffer | undefined {
  let found: Buffer | undefined
  try {
    found = environment.getBinaryFast(key, options)
  } catch (error) {
    throw checks.ofRead(error)
  }
  if (found === undefined) {
    // Most preconditions of commits are absences, and a proof costs more than the rest of such a commit.
    if (options === undefined) return undefined
    checkNeighbour(environment, key, { isBefore: true, isExclusive: true }, checks, options.transaction)
    checkNeighbour(environment, key, { isBefore: false, isExclusive: true }, checks, options.transaction)
    return undefined
  }
  // The buffer itself is larger than its property `length` says.
  const length = checks.valueLength(key, found, found.length)
  if (length < 0) throw checks.damaged(key, checksumFault)
  return found.subarray(0, length)
}

/** The entry next to the key, on one side. Throws DataCorruption. */
function checkNeighbour(
  environment: Environment,
  key: Bytes,
  { isBefore, isExclusive }: { readonly isBefore: boolean; readonly isExclusive: boolean },
  checks: EntryChecks,
  transaction: ReadTransaction,
): void {
  const start = { start: key, end: undefined, reverse: isBefore, exclusiveStart: isExclusive, transaction }
  try {
    for (const { key: found, value } of environment.getRange(start)) {
      if (checks.valueLength(found, value, value.length) < 0) throw checks.damaged(found, checksumFault)
      if (!follows(key, found, isBefore, isExclusive)) throw checks.damaged(found, orderFault)
      return
    }
  } catch (error) {
    throw checks.ofRead(error)
  }
}

/**
 * Hands the entries of a range to `use`, until that returns false or the range ends. The key belongs to whoever takes
 * it; the value is the first `length` bytes of `lent`, until something else is read. Throws DataCorruption, also where
 * only keys are wanted, since damage may be in a key, and where the entry before or behind the range is damaged, which may
 * have been within. With `onDamage` damaged entries are left out instead. Returns the key after which the range goes on:
 * undefined at its end.
 */
export function visitEntries(
  environment: Environment,
  range: LmdbRange,
  checks: EntryChecks,
  transaction: ReadTransaction | undefined,
  use: (key: Buffer, lent: Buffer, length: number) => unknown,
  onDamage?: (error: AshlarError) => void,
): Bytes | undefined {
  const { reverse, limit, start, exclusiveStart, isContinued } = range
  if (start !== undefined && transaction !== undefined && !isContinued && onDamage === undefined)
    checkNeighbour(environment, start, { isBefore: !reverse, isExclusive: !exclusiveStart }, checks, transaction)
  let previous = start
  let isAfter = exclusiveStart
  let visited = 0
  try {
    // The end is looked for here, so that the entry behind it is seen.
    for (const { key, value } of environment.getRange({
      start,
      end: undefined,
      reverse,
      exclusiveStart,
      transaction,
    })) {
      const length = checks.valueLength(key, value, value.length)
      const isInOrder = previous === undefined || follows(previous, key, reverse, isAfter)
      if (length < 0 || !isInOrder) {
        const error = checks.damaged(key, length < 0 ? checksumFault : orderFault)
        if (onDamage === undefined) throw error
        onDamage(error)
        continue
      }
      if (isBehind(key, range)) return undefined
      previous = key
      isAfter = true
      if (use(key, value, length) === false || ++visited === limit) return key
    }
  } catch (error) {
    const damage = checks.ofRead(error)
    if (onDamage === undefined || !(damage instanceof AshlarError) || damage === error) throw damage
    onDamage(damage)
  }
  return undefined
}

const checksumFault = 'its checksum does not fit'
const orderFault = 'it is not at its place in the order of keys'

function isBehind(key: Bytes, { end, inclusiveEnd, reverse }: LmdbRange): boolean {
  if (end === undefined) return false
  const order = compareKeys(key, end)
  return order === 0 ? !inclusiveEnd : order > 0 !== reverse
}

function follows(previous: Bytes, key: Bytes, reverse: boolean, isAfter: boolean): boolean {
  const order = compareKeys(previous, key)
  return order === 0 ? !isAfter : order < 0 !== reverse
}

/** Neighbours share most of their bytes, and are short: faster than calling `Buffer.compare`. */
function compareKeys(one: Bytes, other: Bytes): number {
  const length = Math.min(one.length, other.length)
  for (let at = 0; at < length; at++) {
    const difference = (one[at] as number) - (other[at] as number)
    if (difference !== 0) return difference
  }
  return one.length - other.length
}
