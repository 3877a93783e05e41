/** The files in which a command writes what takes its name once it is whole, and what killed commands have left of them. */
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { isAlive } from './is-alive.ts'

/** Whatever has written it has ended. */
const oldMs = 86_400_000

/** `<file>.<machine>-<process>-<random>.partial`, beside the file. */
export function partialName(file: string): string {
  return `${file}.${machine()}-${process.pid}-${randomBytes(6).toString('hex')}.partial`
}

/**
 * Removes what commands have left that were to write this file and were killed: those of processes of this machine that have ended, and those that nobody has
 * written to for a day. What cannot be removed stays.
 */
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
    // Whether the file itself can be written is told by whoever writes it.
  }
}

/** Containers that share a directory have other processes under the same numbers. */
function machine(): string {
  return createHash('sha256').update(hostname()).digest('hex').slice(0, 8)
}
