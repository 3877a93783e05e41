/** Reads the number of the last commit from the data file. */
import { readSync } from 'node:fs'
import { metaTransactionAt } from './data-file.ts'
import type { Environment } from './lmdb-js.ts'

const numberBytes = 8
const wordValues = 2 ** 32

let pages = Buffer.alloc(0)

/** Reads the meta pages, which commits write alternately. LMDB's own function also collects nine other numbers, which takes several times as long. */
export function lastTransaction({ dataFile, env }: Environment): number {
  if (dataFile === undefined) return env.info().lastTxnId
  const { descriptor, pageBytes } = dataFile
  const length = pageBytes + metaTransactionAt + numberBytes
  if (pages.length < length) pages = Buffer.alloc(length)
  if (readSync(descriptor, pages, 0, length, 0) < length) return env.info().lastTxnId
  return Math.max(numberAt(metaTransactionAt), numberAt(pageBytes + metaTransactionAt))
}

/** Identifies a commit across all data files: a compaction replaces the file by one with other transaction numbers. */
export function nameOfCommit({ dataFile }: Environment, transaction: number): string | undefined {
  return dataFile && `${dataFile.identity} ${transaction}`
}

function numberAt(at: number): number {
  return pages.readUInt32LE(at) + pages.readUInt32LE(at + numberBytes / 2) * wordValues
}
