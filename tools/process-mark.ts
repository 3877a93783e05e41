/** Names a process so that it can be told apart from a later one that got the same number. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** `pid-start-space`: its number, when it started, and within which numbering of processes that number counts. */
export function markOf(pid: number): string {
  return `${pid}-${startOf(pid) ?? 0}-${numberSpace()}`
}

/** Whether the process is known to be gone: not where its number counts elsewhere, as in another container. */
export function isGone(mark: string): boolean {
  const [, pid, start, space] = /^(\d+)-(\w+)-(\w+)$/.exec(mark) ?? []
  if (pid === undefined || space !== numberSpace()) return false
  return startOf(Number(pid)) !== start
}

/** Containers share folders without sharing numbers of processes. */
function numberSpace(): string {
  let namespace = ''
  try {
    namespace = readlinkSync('/proc/self/ns/pid')
  } catch {
    // Elsewhere than on Linux a machine has one numbering.
  }
  return createHash('sha256').update(`${hostname()} ${namespace}`).digest('hex').slice(0, 8)
}

/** Undefined when no process has this number; a process that has ended and waits for its parent is none. */
function startOf(pid: number): string | undefined {
  if (process.platform === 'linux') {
    try {
      // The name in parentheses may hold anything; what follows is the state, and 19 fields later the start in ticks.
      const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? []
      return 'ZX'.includes(fields[0] ?? 'X') ? undefined : fields[19]
    } catch {
      return undefined
    }
  }
  if (process.platform === 'win32') return isThere(pid) ? '0' : undefined
  const started = Date.parse(spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).stdout)
  return Number.isNaN(started) ? undefined : (started / 1000).toString(36)
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

export interface RunningProcess {
  readonly pid: number
  /** Its program and parameters, separated by blanks. */
  readonly command: string
}

/** All processes that can be seen; none on Windows, where nothing as simple lists them. */
export function runningProcesses(): RunningProcess[] {
  if (process.platform === 'win32') return []
  if (process.platform === 'linux') {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    return pids.map((pid) => ({ pid: Number(pid), command: commandOf(pid) }))
  }
  const { stdout } = spawnSync('ps', ['-axo', 'pid=,command='], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  return [...stdout.matchAll(/^ *(\d+) (.*)$/gm)].map(([, pid, command]) => ({
    pid: Number(pid),
    command: command ?? '',
  }))
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}
