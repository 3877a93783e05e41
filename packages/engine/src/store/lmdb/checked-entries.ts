/** Reads of an environment that let no damaged entry through: checksums, and keys in order and within their range. */
import { AshlarError } from '../../errors.ts'
import type { Bytes } from '../store.ts'
import type { EntryChecks } from './entry-checks.ts'
import type { Environment, LmdbRange, ReadTransaction } from './environment.ts'

/**
 * The value of the key, as a view that the next read overwrites; undefined where there is none. Throws DataCorruption.
 * `options`: the transaction that reads; without it, the write transaction that is under way.
 */
export function lentValue(
  environment: Environment,
  key: Bytes,
  checks: EntryChecks,
  options?: { readonly transaction: ReadTransaction },
): Buffer | undefined {
  let found: Buffer | undefined
  try {
    found = environment.getBinaryFast(key, options)
  } catch (error) {
    throw checks.ofRead(error)
  }
  // The buffer itself is larger than its property `length` says.
  if (found === undefined) return undefined
  const length = checks.valueLength(key, found, found.length)
  if (length < 0) throw checks.damaged(key, 'its checksum does not fit')
  return found.subarray(0, length)
}

/**
 * Hands the entries of a range to `use`, until that returns false or the range ends. The key belongs to whoever takes
 * it; the value is the first `length` bytes of `lent`, until something else is read. Throws DataCorruption, also where
 * only keys are wanted, since damage may be in a key. With `onDamage` damaged entries are left out instead. Returns the
 * key after which the range goes on: undefined at its end.
 */
export function visitEntries(
  environment: Environment,
  range: LmdbRange,
  checks: EntryChecks,
  use: (key: Buffer, lent: Buffer, length: number) => unknown,
  onDamage?: (error: AshlarError) => void,
): Bytes | undefined {
  const { reverse, limit } = range
  let previous = range.start
  let isAfter = range.exclusiveStart
  let visited = 0
  try {
    for (const { key, value } of environment.getRange(range)) {
      visited++
      if (previous !== undefined && !follows(previous, key, reverse, isAfter)) {
        const error = checks.damaged(key, 'it is not at its place in the order of keys')
        if (onDamage === undefined) throw error
        onDamage(error)
        continue
      }
      previous = key
      isAfter = true
      const length = checks.valueLength(key, value, value.length)
      if (length >= 0) {
        if (use(key, value, length) === false) return key
        continue
      }
      const error = checks.damaged(key, 'its checksum does not fit')
      if (onDamage === undefined) throw error
      onDamage(error)
    }
  } catch (error) {
    const damage = checks.ofRead(error)
    if (onDamage === undefined || !(damage instanceof AshlarError) || damage === error) throw damage
    onDamage(damage)
    return undefined
  }
  // Entries that are out of order do not count: the scan would go back to them for ever.
  return visited < limit || previous === range.start ? undefined : previous
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
