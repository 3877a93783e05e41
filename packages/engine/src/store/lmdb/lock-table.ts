/** LMDB's lock table, `lock.mdb`, read directly: it contains the number of the last commit, from which every read begins. */
import { closeSync, openSync, readSync } from 'node:fs'
import { assert } from '../../errors.ts'
import { magicNumber } from './data-file.ts'
import { identityOf } from './replaced-file.ts'

const transactionAt = 8
const numberBytes = 8
const wordValues = 2 ** 32

interface Opened {
  readonly descriptor: number
  handles: number
}

/**
 * By device and inode. When this process closes the file for the first time, the system releases all locks that LMDB has on it: so it stays open as
 * long as any handle needs them.
 */
const opened = new Map<string, Opened>()

const bytes = Buffer.alloc(numberBytes)

export interface LockTable {
  lastTransaction(): number
  /** Must be called after LMDB has closed the environment. */
  close(): void
}

/** Must be called while LMDB has the environment open. */
export function openLockTable(path: string): LockTable {
  const identity = identityOf(path)
  assert(identity !== undefined, 'LMDB has opened its lock table')
  const file = opened.get(identity) ?? { descriptor: openSync(path, 'r'), handles: 0 }
  const { descriptor } = file
  file.handles++
  opened.set(identity, file)
  assert(read(descriptor, 0).readUInt32LE(0) === magicNumber, 'LMDB begins its lock table with its mark')
  return {
    lastTransaction() {
      read(descriptor, transactionAt)
      return bytes.readUInt32LE(0) + bytes.readUInt32LE(numberBytes / 2) * wordValues
    },
    close() {
      if (--file.handles > 0) return
      opened.delete(identity)
      closeSync(descriptor)
    },
  }
}

function read(descriptor: number, at: number): Buffer {
  assert(readSync(descriptor, bytes, 0, numberBytes, at) === numberBytes, 'the lock table of LMDB is longer than that')
  return bytes
}
