/** The keys of the change log. Part of the storage format. */
import { keySpace } from '../bytes/key-space.ts'
import { appendedNumber, appendPrefixBytes, appendSuffixAt } from '../store/append.ts'
import type { Bytes } from '../store/store.ts'

/** The second byte of the keys of the space `log`. A number is never used for something else. */
const logPart = { commit: 0x00, truncated: 0x01 } as const

const suffixBytes = 8

export const logPrefix: Bytes = Buffer.of(keySpace.log, logPart.commit)

/** What commits append to while the log is of this epoch: it is another each time that the log is turned on. */
export function epochPrefix(epoch: number): Buffer {
  const prefix = Buffer.allocUnsafe(appendPrefixBytes)
  prefix.set(logPrefix)
  prefix.writeUInt32BE(epoch, logPrefix.length)
  return prefix
}

/** Holds up to which number commits of the epoch are removed: u64. */
export function truncatedKey(epoch: number): Buffer {
  const key = epochPrefix(epoch)
  key[1] = logPart.truncated
  return key
}

/** `part`: of the commit, from 0. `bytes`: of the value, so that keys alone tell how large the log is. */
export function logSuffix(part: number, bytes: number): Buffer {
  const suffix = Buffer.allocUnsafe(suffixBytes)
  suffix.writeUInt32BE(part)
  suffix.writeUInt32BE(bytes, 4)
  return suffix
}

export interface LogKey {
  readonly epoch: number
  readonly number: number
  readonly part: number
  /** Of the value. */
  readonly bytes: number
}

export function readLogKey(key: Bytes): LogKey {
  const buffer = Buffer.from(key.buffer, key.byteOffset, key.length)
  return {
    epoch: buffer.readUInt32BE(logPrefix.length),
    number: appendedNumber(key),
    part: buffer.readUInt32BE(appendSuffixAt),
    bytes: buffer.readUInt32BE(appendSuffixAt + 4),
  }
}
