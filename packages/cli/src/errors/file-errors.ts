/** Errors for files and folders specified by the user, and creation of missing folders. */
import { accessSync, constants, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { unreadableFile } from '@ashlar/server/shared'
import { CommandError, usageError } from './command-error.ts'
import { exitCodes } from './exit-codes.ts'

/** `what`: the file, at the beginning of a sentence. */
export function unreadableFileError(what: string, error: unknown): CommandError {
  return usageError(`${what} cannot be read: ${unreadableFile(error)}.`)
}

/** Checks a file before it is opened. */
export function refuseUnreadable(file: string): void {
  try {
    accessSync(file, constants.R_OK)
    if (statSync(file).isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' })
  } catch (error) {
    throw unreadableFileError(`The file ${file}`, error)
  }
}

/** Reasons that complete "… cannot be written: ". */
const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such directory',
  ENOTDIR: 'a part of its path is a file',
  EEXIST: 'it is a file; name a directory',
  EISDIR: 'it is a directory; name a file',
  EACCES: 'the user who runs ashlar may not write there',
  EPERM: 'the user who runs ashlar may not write there',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EFBIG: 'it would be larger than a file may be here (ulimit -f, or the file system)',
  EDQUOT: 'the quota of the user is used up',
}

/** Errors caused by the specified path. */
const wrongPlaces = ['ENOENT', 'ENOTDIR', 'EEXIST', 'EISDIR', 'EACCES', 'EPERM']

/** Returns the error. `place`: as specified by the user; `hasStarted`: completed work is lost. */
export function unwritable(place: string, error: unknown, hasStarted = false): CommandError {
  const { code = '', message } = error as NodeJS.ErrnoException
  const exitCode = wrongPlaces.includes(code) && !hasStarted ? exitCodes.usage : exitCodes.failed
  return new CommandError(exitCode, `${place} cannot be written: ${reasons[code] ?? message}.`)
}

/** Creates a directory and its parents. Node's recursive form loops forever on file systems such as /proc. Throws as `mkdirSync`. */
export function makeFolders(folder: string, mode?: number): void {
  const path = resolve(folder)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory() === true) return
  if (found === undefined && dirname(path) !== path) makeFolders(dirname(path), mode)
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    // Another process may have created it meanwhile.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
  }
}
