/** Reads of an environment that let no damaged entry through: checksums, and keys in order and within their range. */
import { DamagedEntry } from '../damaged-entry.ts'
import type { Bytes } from '../store.ts'
import { checkedLength } from './entry-checksum.ts'
import type { Environment, LmdbRange } from './environment.ts'
import type { StorageLayout } from './storage-layout.ts'

/**
 * What `getBinaryFast` gave for the key, as a view of the value's true size; the buffer itself is larger than its
 * property `length` says. Throws DamagedEntry.
 */
export function lentValue(key: Bytes, found: Buffer, layout: StorageLayout): Buffer {
  return found.subarray(0, layout === 'plain' ? found.length : checkedLength(key, found, found.length))
}

/**
 * Hands the entries of a range to `use`, until that returns false or the range ends. The key belongs to
 * whoever takes it; the value is the first `length` bytes of `lent`, as long as nothing else is read. Throws DamagedEntry; also where only keys are wanted, since damage may be in a key.
 */
export function visitEntries(
  environment: Environment,
  range: LmdbRange,
  layout: StorageLayout,
  use: (key: Buffer, lent: Buffer, length: number) => unknown,
): void {
  const { reverse } = range
  let previous = range.start
  let isAfter = range.exclusiveStart
  for (const { key, value } of environment.getRange(range)) {
    if (previous !== undefined && !follows(previous, key, reverse, isAfter))
      throw new DamagedEntry(key, 'it is not at its place in the order of keys')
    previous = key
    isAfter = true
    const length = layout === 'plain' ? value.length : checkedLength(key, value, value.length)
    if (use(key, value, length) === false) return
  }
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
