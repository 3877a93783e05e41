/** The folders of temporary PostgreSQL servers: each names the process it belongs to, so that what a killed run left can be removed. */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isGone, markOf, runningProcesses } from './process-mark.ts'

const prefix = 'ashlar-postgres.'

/** A folder of this process below `parent`: others may pass through it, and nobody else can change what is in it. */
export function makeServerFolder(parent: string): string {
  const folder = mkdtempSync(join(parent, `${prefix}${markOf(process.pid)}.`))
  chmodSync(folder, 0o711)
  return folder
}

/**
 * Ends the servers and removes the folders that processes which are gone have left below `parent`: never those of one that
 * may be alive, nor what another user has put there under such a name.
 *
 * @returns the folders removed
 */
export function removeLeftovers(parent: string): string[] {
  const removed: string[] = []
  for (const name of existsSync(parent) ? readdirSync(parent) : []) {
    const folder = join(parent, name)
    const mark = name.startsWith(prefix) ? name.slice(prefix.length).split('.')[0] : undefined
    if (mark === undefined || !isGone(mark) || !isOurs(folder)) continue
    endServers(folder)
    removeServerFolder(folder)
    removed.push(folder)
  }
  return removed
}

/** The data belong to another user where we are root: `rm` follows no link that such a user puts in its way. */
export function removeServerFolder(folder: string): void {
  if (process.platform === 'win32') rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  else spawnSync('rm', ['-rf', folder])
}

/** Whether it is a folder of this user, in which nobody else can change anything; not where a link leads. */
export function isOurs(folder: string): boolean {
  try {
    const stats = lstatSync(folder)
    const { uid, mode } = stats
    return stats.isDirectory() && (process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0))
  } catch {
    return false
  }
}

const endMsMax = 5000

/** Ends what serves the data in `folder` as a crash would, which loses nothing that anybody still wants. */
function endServers(folder: string): void {
  const servers = (): number[] =>
    runningProcesses()
      .filter(({ command }) => /(^|\/)(postgres|initdb) /.test(command) && command.includes(`${folder}/data`))
      .map(({ pid }) => pid)
  for (const pid of servers()) send(pid, 'SIGQUIT')
  const end = Date.now() + endMsMax
  while (Date.now() < end && servers().length > 0) sleep(20)
  for (const pid of servers()) send(pid, 'SIGKILL')
}

/** Waits without letting anything else run: for a process that is about to end. */
export function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended meanwhile.
  }
}
