/** The keys of the change log. Part of the storage format. */
import { keySpace } from '../bytes/key-space.ts'
import { appendedBytes, appendedNumber, appendPrefixBytes } from '../store/append.ts'
import type { Bytes } from '../store/store.ts'

/** The second byte of keys in the space `log`. Numbers are never reused. */
const logPart = { commit: 0x00, truncated: 0x01 } as const

export const logPrefix: Bytes = Buffer.of(keySpace.log, logPart.commit)

let last: { readonly epoch: number; readonly prefix: Buffer } | undefined

/** The prefix under which commits append in the epoch, which changes each time the log is turned on. Must not be modified. */
export function epochPrefix(epoch: number): Buffer {
  if (last?.epoch !== epoch) last = { epoch, prefix: newPrefix(epoch) }
  return last.prefix
}

function newPrefix(epoch: number): Buffer {
  const prefix = Buffer.allocUnsafe(appendPrefixBytes)
  prefix.set(logPrefix)
  prefix.writeUInt32BE(epoch, logPrefix.length)
  return prefix
}

/** Its value is the number up to which commits of the epoch are removed: u64. */
export function truncatedKey(epoch: number): Buffer {
  const key = newPrefix(epoch)
  key[1] = logPart.truncated
  return key
}

export interface LogKey {
  /** Number of the commit; for a block, of its last one. */
  readonly number: number
  readonly bytes: number
}

export function readLogKey(key: Bytes): LogKey {
  return { number: appendedNumber(key), bytes: appendedBytes(key) }
}
