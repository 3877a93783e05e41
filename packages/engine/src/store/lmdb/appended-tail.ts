/**
 * The tail: the block appended last, stored in the page that lists the databases. Every commit writes that page anyway; another entry of the tree
 * would cost a leaf and its branch. Reads of the store see the tail as an ordinary entry.
 */
import { appendedKey, appendedNumber, appendPart, appendPrefixBytes, appendSpace, appendSuffixAt } from '../append.ts'
import { AppendBlock, blockPart } from '../append-blocks.ts'
import type { Bytes, Entry, KeyRange } from '../store.ts'
import type { EntryChecks } from './entry-checks.ts'
import { borrowedWithChecksum, checkedLength, checksumBytes } from './entry-checksum.ts'
import { borrowedBytes, noteValueBuffer } from './entry-cursor.ts'
import type { Environment } from './lmdb-js.ts'
import type { Pin } from './read-pins.ts'

/** Its key in the list of databases, whose names end with a zero byte. */
export const tailKey = Buffer.from('appended\0')

/** With its key, LMDB stores the tail on a minimal page together with the list, and fits two blocks on one page of the tree. */
export const blockBytesMax = 1_999

const headBytes = appendSuffixAt
const written = Buffer.allocUnsafeSlow(headBytes + blockBytesMax)

/** Without a pin, reads in the current write transaction. Throws DamagedEntry. */
export function readTail(environment: Environment, checks: EntryChecks, pin?: Pin): Entry | undefined {
  const stored = storedTail(environment, checks, pin)
  if (stored === undefined) return undefined
  const length = checkedLength(tailKey, stored, stored.length)
  if (length < headBytes) throw checks.damaged(Buffer.of(appendSpace, appendPart), 'its checksum does not fit')
  const value = stored.subarray(headBytes, length)
  return {
    key: appendedKey(stored.subarray(0, appendPrefixBytes), appendedNumber(stored), blockPart, value.length),
    value,
  }
}

/** A copy of the stored bytes, unverified. */
export function storedTail(environment: Environment, checks: EntryChecks, pin?: Pin): Buffer | undefined {
  let found: Buffer | undefined
  try {
    found = environment.list.getBinaryFast(tailKey, pin)
  } catch (error) {
    throw checks.translateError(error)
  }
  if (found === undefined) return undefined
  noteValueBuffer(found)
  return Buffer.from(borrowedBytes(found, found.length))
}

/** `entry`: as returned by `readTail`. Only in a write transaction. */
export function writeTail(environment: Environment, key: Bytes, value: Bytes): void {
  const tail = headBytes + value.length <= written.length ? written : Buffer.alloc(headBytes + value.length)
  tail.set(key.subarray(0, headBytes))
  tail.set(value, headBytes)
  environment.list.put(tailKey, borrowedWithChecksum(tailKey, tail.subarray(0, headBytes + value.length)))
}

export function isTailIntact(stored: Bytes): boolean {
  return stored.length >= headBytes + checksumBytes && checkedLength(tailKey, stored, stored.length) >= headBytes
}

/** Whether the range may contain the tail, which most cannot. */
export function mayHoldTail({ from, to }: KeyRange): boolean {
  const [space = 0, part = 0] = from ?? []
  const isBehind = space > appendSpace || (space === appendSpace && part > appendPart)
  return !isBehind && (to === undefined || (to[0] ?? 0) >= appendSpace)
}

/** The block of a tail, to be extended. */
export function blockOf({ key, value }: Entry): AppendBlock {
  const prefix = Buffer.from(key.subarray(0, appendPrefixBytes))
  const block = new AppendBlock(prefix, appendedNumber(key), Math.max(blockBytesMax, value.length))
  block.restore(value)
  return block
}

export function isUnder(prefix: Bytes, key: Bytes): boolean {
  if (key.length < appendPrefixBytes) return false
  for (let at = 0; at < appendPrefixBytes; at++) if (key[at] !== prefix[at]) return false
  return true
}
