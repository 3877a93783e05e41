/** The keys of the change log. Part of the storage format. */
import { keySpace } from '../bytes/key-space.ts'
import { appendedBytes, appendedNumber, appendPrefixBytes } from '../store/append.ts'
import type { Bytes } from '../store/store.ts'

/** The second byte of the keys of the space `log`. A number is never used for something else. */
const logPart = { commit: 0x00, truncated: 0x01 } as const

export const logPrefix: Bytes = Buffer.of(keySpace.log, logPart.commit)

let last: { readonly epoch: number; readonly prefix: Buffer } | undefined

/** What commits append to while the log is of this epoch: it is another each time that the log is turned on. Not to be changed. */
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

/** Holds up to which number commits of the epoch are removed: u64. */
export function truncatedKey(epoch: number): Buffer {
  const key = newPrefix(epoch)
  key[1] = logPart.truncated
  return key
}

export interface LogKey {
  /** Of the commit; of a block, that of its last. */
  readonly number: number
  /** Of the value. */
  readonly bytes: number
}

export function readLogKey(key: Bytes): LogKey {
  return { number: appendedNumber(key), bytes: appendedBytes(key) }
}
