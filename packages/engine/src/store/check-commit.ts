/** The checks of a commit that are common to all drivers: the sizes of keys and values. */
import { unreachable } from '../errors.ts'
import { appendedKeyBytes, appendPart, appendPrefixBytes, appendSpace, isAppendedKey } from './append.ts'
import { PackedChanges, PackedPreconditions, type PackedRows, packedLengthBytes } from './packed-rows.ts'
import type { Append, Bytes, Change, Commit, Precondition, StoreCapabilities } from './store.ts'
import { inSlices, type TimeSlice } from './time-slice.ts'

export type EntrySizeLimits = Pick<StoreCapabilities, 'keyBytesMax' | 'valueBytesMax'>

/** Bytes of keys and values that the commit writes. A size out of bounds fails an assertion: it is a bug, never a client error. */
export function checkedCommitBytes({ changes, preconditions, append }: Commit, limits: EntrySizeLimits): number {
  let bytes = append === undefined ? 0 : checkedAppendBytes(append, limits)
  if (changes instanceof PackedChanges && preconditions instanceof PackedPreconditions) {
    for (const rows of changes.all) bytes += checkedPackedBytes(rows, limits)
    for (const precondition of preconditions.others) checkPrecondition(precondition, limits)
    return bytes
  }
  for (const change of changes) bytes += checkedChangeBytes(change, limits)
  for (const precondition of preconditions) checkPrecondition(precondition, limits)
  return bytes
}

/** The checks alone, with yields, for a commit with very many changes. */
export async function checkInSlices(
  { changes, preconditions, append }: Commit,
  limits: EntrySizeLimits,
  slice: TimeSlice,
): Promise<void> {
  if (append !== undefined) checkedAppendBytes(append, limits)
  if (changes instanceof PackedChanges && preconditions instanceof PackedPreconditions) {
    for (const rows of changes.all) checkedPackedBytes(rows, limits)
    await inSlices(preconditions.others, (precondition) => checkPrecondition(precondition, limits), slice)
    return
  }
  await inSlices(changes, (change) => checkedChangeBytes(change, limits), slice)
  await inSlices(preconditions, (precondition) => checkPrecondition(precondition, limits), slice)
}

function checkedAppendBytes({ prefix, values }: Append, limits: EntrySizeLimits): number {
  if (prefix.length !== appendPrefixBytes || !isAppendedKey(prefix))
    unreachable(
      `what is appended to has a prefix of ${appendPrefixBytes} bytes, which begins with ${appendSpace} and ${appendPart}`,
    )
  let bytes = 0
  for (const { length } of values) {
    if (length > limits.valueBytesMax) unreachable(`a value has at most ${limits.valueBytesMax} bytes`)
    bytes += appendedKeyBytes + length
  }
  return bytes
}

function checkedPackedBytes(
  { count, keys, values, keyBytesMost, valueBytesMost }: PackedRows,
  limits: EntrySizeLimits,
): number {
  checkKeyLength(keyBytesMost, limits)
  if (valueBytesMost > limits.valueBytesMax) unreachable(`a value has at most ${limits.valueBytesMax} bytes`)
  return keys.length + values.length - 2 * packedLengthBytes * count
}

function checkedChangeBytes(change: Change, limits: EntrySizeLimits): number {
  checkKey(change.key, limits)
  if (change.kind !== 'put') return change.key.length
  const { length } = change.value
  if (length > limits.valueBytesMax) unreachable(`a value has at most ${limits.valueBytesMax} bytes`)
  return change.key.length + length
}

function checkPrecondition(precondition: Precondition, limits: EntrySizeLimits): void {
  if (precondition.kind === 'range') checkKey(precondition.rangeLockKey, limits)
  else if (precondition.kind !== 'unchanged') checkKey(precondition.key, limits)
}

function checkKey({ length }: Bytes, limits: EntrySizeLimits): void {
  checkKeyLength(length, limits)
}

function checkKeyLength(length: number, limits: EntrySizeLimits): void {
  const isInBounds = length >= 1 && length <= limits.keyBytesMax
  if (!isInBounds) unreachable(`a key has 1 to ${limits.keyBytesMax} bytes, this one has ${length}`)
}
