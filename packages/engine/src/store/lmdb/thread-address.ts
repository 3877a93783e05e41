/** Addresses by which worker threads open the data file that the main thread has open, and never one that has replaced it. */
import { fstatSync } from 'node:fs'
import type { Environment } from './lmdb-js.ts'

const form = /^lmdb:(.*)\?file=(.*)$/s

export interface ThreadPlace {
  readonly directory: string
  /** See `identityOfFile`; empty if a file in use is never replaced. */
  readonly file: string
}

export function threadAddress(directory: string, { dataFile }: Environment): string {
  return `lmdb:${directory}?file=${dataFile === undefined ? '' : identityOfFile(dataFile.descriptor)}`
}

export function readThreadAddress(address: string): ThreadPlace {
  const [, directory = '', file = ''] = form.exec(address) ?? []
  return { directory, file }
}

/** Device and inode. */
export function identityOfFile(descriptor: number): string {
  const { dev, ino } = fstatSync(descriptor)
  return `${dev}:${ino}`
}
