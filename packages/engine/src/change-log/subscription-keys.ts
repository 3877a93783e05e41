/** The keys of subscriptions to the change log. Part of the storage format. */
import { createHash } from 'node:crypto'
import { keySpace } from '../bytes/key-space.ts'
import type { Bytes, KeyRange } from '../store/store.ts'

/** The second byte of keys in the space `log`, distinct from the log's own. Numbers are never reused. */
const part = { subscription: 0x02, deadLetter: 0x03 } as const

const digestBytes = 16
const numberAt = 2 + digestBytes

/** Hashed, since names have any length and characters. */
function keyOf(second: number, name: string, rest: number): Buffer {
  const key = Buffer.alloc(numberAt + rest)
  key[0] = keySpace.log
  key[1] = second
  createHash('sha256').update(name).digest().copy(key, 2, 0, digestBytes)
  return key
}

export function subscriptionKey(name: string): Buffer {
  return keyOf(part.subscription, name, 0)
}

export const subscriptionRange: KeyRange = {
  from: Buffer.of(keySpace.log, part.subscription),
  to: Buffer.of(keySpace.log, part.subscription + 1),
}

/** Its value is a dead letter. */
export function deadLetterKey(name: string, number: number): Buffer {
  const key = keyOf(part.deadLetter, name, 8)
  key.writeBigUInt64BE(BigInt(number), numberAt)
  return key
}

/** In the order of their numbers. */
export function deadLetterRange(name: string): KeyRange {
  return {
    from: keyOf(part.deadLetter, name, 0),
    to: Buffer.concat([keyOf(part.deadLetter, name, 0), Buffer.of(0xff)]),
  }
}

export function deadLetterNumber(key: Bytes): number {
  return Number(Buffer.from(key.buffer, key.byteOffset, key.length).readBigUInt64BE(numberAt))
}
