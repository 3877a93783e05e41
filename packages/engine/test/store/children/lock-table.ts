/** LMDB's lock table, as a program sees it that opens a store. Only for children: closing `lock.mdb` ends all locks of a process on it. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const place = 8

/** The number of the last commit, which the next one counts on from. */
export function transactionNumber(directory: string): bigint {
  const file = openSync(join(directory, 'lock.mdb'), 'r')
  const number = Buffer.alloc(8)
  readSync(file, number, 0, 8, place)
  closeSync(file)
  return number.readBigUInt64LE()
}

export function setTransactionNumber(directory: string, number: bigint): void {
  const file = openSync(join(directory, 'lock.mdb'), 'r+')
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(number)
  writeSync(file, bytes, 0, 8, place)
  closeSync(file)
}
