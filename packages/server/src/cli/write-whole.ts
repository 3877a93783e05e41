/** Writes a file whole or not at all: a disk that is full in the middle leaves the one that was there. */
import { realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { partialName, removeAbandoned } from './partial-files.ts'

const usualMode = 0o666

/** `isNew`: throws EEXIST where there is a file already. Throws what the file system does. */
export function writeWhole(file: string, text: string, { isNew = false } = {}): void {
  const before = statSync(file, { throwIfNoEntry: false })
  if (before !== undefined && isNew) throw Object.assign(new Error(`${file} exists`), { code: 'EEXIST' })
  if (before?.isFile() === false) {
    // A device or a pipe cannot be replaced; a directory is refused by this.
    writeFileSync(file, text)
    return
  }
  const target = before === undefined ? file : realpathSync(file)
  removeAbandoned(target)
  const partial = partialName(target)
  try {
    writeFileSync(partial, text, { flag: 'wx', mode: before === undefined ? usualMode : before.mode })
    renameSync(partial, target)
  } finally {
    rmSync(partial, { force: true })
  }
}
