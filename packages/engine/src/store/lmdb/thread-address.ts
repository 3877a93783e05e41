/** By what a worker thread opens the data file that the main thread has open, and no other that has taken its place. */
import { fstatSync } from 'node:fs'
import type { Environment } from './lmdb-js.ts'

const form = /^lmdb:(.*)\?file=(.*)$/s

export interface ThreadPlace {
  readonly directory: string
  /** As `identityOfFile` has it; empty where a file in use is never replaced. */
  readonly file: string
}

export function threadAddress(directory: string, { dataFile }: Environment): string {
  return `lmdb:${directory}?file=${dataFile === undefined ? '' : identityOfFile(dataFile.descriptor)}`
}

export function readThreadAddress(address: string): ThreadPlace {
  const [, directory = '', file = ''] = form.exec(address) ?? []
  return { directory, file }
}

/** By device and inode. */
export function identityOfFile(descriptor: number): string {
  const { dev, ino } = fstatSync(descriptor)
  return `${dev}:${ino}`
}
