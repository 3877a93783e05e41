/** Writes a file completely or not at all: if the disk gets full, the previous file remains. */

import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'

const defaultMode = 0o666

/** `isNew`: throws EEXIST if the file exists. Throws errors of the file system. */
export function writeAtomically(file: string, text: string, { isNew = false } = {}): void {
  const before = statSync(file, { throwIfNoEntry: false })
  if (before !== undefined && isNew) throw Object.assign(new Error(`${file} exists`), { code: 'EEXIST' })
  if (before?.isFile() === false) {
    // A device or a pipe cannot be replaced; for a directory, this throws an error.
    writeFileSync(file, text)
    return
  }
  const target = before === undefined ? file : realpathSync(file)
  removeAbandoned(target)
  const partial = partialName(target)
  try {
    writeFileSync(partial, text, { flag: 'wx', mode: before === undefined ? defaultMode : before.mode })
    renameSync(partial, target)
  } finally {
    rmSync(partial, { force: true })
  }
}

/** Age at which a partial file counts as abandoned. */
const oldMs = 86_400_000

/** `<file>.<machine>-<process>-<random>.partial`, in the directory of the file. */
export function partialName(file: string): string {
  return `${file}.${machine()}-${process.pid}-${randomBytes(6).toString('hex')}.partial`
}

/** Removes partial files of killed commands: if their process on this machine has ended, or if they were not written for a day. Ignores errors. */
export function removeAbandoned(file: string): void {
  const directory = dirname(file)
  const begin = `${basename(file)}.`
  try {
    for (const name of readdirSync(directory)) {
      const [, by, pid] =
        (name.startsWith(begin) && /^([0-9a-f]{8})-(\d+)-[0-9a-f]{12}\.partial$/.exec(name.slice(begin.length))) || []
      if (pid === undefined) continue
      const path = join(directory, name)
      const isEnded = by === machine() && !isAlive(Number(pid))
      if (isEnded || Date.now() - statSync(path).mtimeMs > oldMs) rmSync(path, { force: true })
    }
  } catch {
    // If the directory is not accessible, the writer reports it.
  }
}

/** Containers that share a directory may use the same process IDs. */
function machine(): string {
  return createHash('sha256').update(hostname()).digest('hex').slice(0, 8)
}

/** Includes processes of other users. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
