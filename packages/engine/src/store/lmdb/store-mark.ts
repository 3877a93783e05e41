/** An empty file that marks a directory that has contained a store: if its data file is missing, data was lost, and no new store is created. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { processDirectory } from './live-processes.ts'
import { isOutOfRoom, makeFile } from './owned-files.ts'

export function storeMark(directory: string): string {
  return join(processDirectory(directory), 'store')
}

/** Must be called once the data file is durable: a first start that is killed before leaves no mark, and the next one starts over. */
export function markStore(directory: string): void {
  const path = storeMark(directory)
  if (existsSync(path)) return
  try {
    makeFile(path)
  } catch (error) {
    // A full disk must not prevent opening the store; the next opening creates the mark.
    if (!isOutOfRoom(error)) throw error
  }
}
