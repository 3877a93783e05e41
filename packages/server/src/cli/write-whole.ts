/** Writes a file whole or not at all: a disk that is full in the middle leaves the one that was there. */
import { randomBytes } from 'node:crypto'
import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs'

const usualMode = 0o666

/** `isNew`: throws EEXIST where there is a file already. Throws what the file system does. */
export function writeWhole(file: string, text: string, { isNew = false } = {}): void {
  const before = statSync(file, { throwIfNoEntry: false })
  if (before !== undefined && isNew) throw Object.assign(new Error(`${file} exists`), { code: 'EEXIST' })
  const partial = `${file}.${randomBytes(6).toString('hex')}.partial`
  try {
    writeFileSync(partial, text, { flag: 'wx', mode: before === undefined ? usualMode : before.mode })
    renameSync(partial, file)
  } finally {
    rmSync(partial, { force: true })
  }
}
