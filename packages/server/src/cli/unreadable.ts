/** Files that a user has named and that cannot be read. */
import { accessSync, constants, statSync } from 'node:fs'
import { unreadableFile } from '../config/unreadable-file.ts'
import { type CommandError, usageError } from './command-error.ts'

/** `what`: the file, at the beginning of a sentence. */
export function unreadable(what: string, error: unknown): CommandError {
  return usageError(`${what} cannot be read: ${unreadableFile(error)}.`)
}

/** Before it is opened. Throws CommandError. */
export function refuseUnreadable(file: string): void {
  try {
    accessSync(file, constants.R_OK)
    if (statSync(file).isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' })
  } catch (error) {
    throw unreadable(`The file ${file}`, error)
  }
}
