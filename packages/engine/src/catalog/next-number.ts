/** The entry that holds the next number of a sequence; it changes independently of the catalog. Part of the storage format. */
import { keySpace } from '../bytes/key-space.ts'
import { assert } from '../errors.ts'
import type { Bytes } from '../store/store.ts'
import type { SequenceNumber } from '../types/type-spec.ts'

export function nextNumberKey(number: SequenceNumber): Buffer {
  const key = Buffer.allocUnsafe(5)
  key[0] = keySpace.sequence
  key.writeUInt32BE(number, 1)
  return key
}

/** Empty if the sequence is exhausted. */
export function encodeNextNumber(next: bigint | undefined): Buffer {
  if (next === undefined) return Buffer.alloc(0)
  const value = Buffer.alloc(8)
  value.writeBigInt64BE(next)
  return value
}

/** Undefined if the sequence is exhausted. */
export function decodeNextNumber(value: Bytes): bigint | undefined {
  if (value.length === 0) return undefined
  assert(value.length === 8, 'the next number of a sequence has 8 bytes')
  return Buffer.from(value.buffer, value.byteOffset, value.length).readBigInt64BE(0)
}
