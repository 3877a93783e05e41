/** The machine of a measurement: which cores the server and the generator of load have, and how busy one is. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { withDescendants } from './processes.ts'

export interface Cores {
  readonly server: number
  readonly generator: number
  /** All that this process had before it took its own. */
  readonly allowed: readonly number[]
}

/** Puts this process, and what it starts, on the core of the generator. Undefined where there is one core, or no `taskset`. */
export function takeCores(): Cores | undefined {
  const allowed = numbers(/Cpus_allowed_list:\s+(\S+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '')
  const [server] = allowed
  if (server === undefined || allowed.length < 2 || spawnSync('taskset', ['--version']).error !== undefined)
    return undefined
  const siblings = numbers(readFileSync(`/sys/devices/system/cpu/cpu${server}/topology/thread_siblings_list`, 'utf8'))
  const generator = allowed.find((core) => !siblings.includes(core)) ?? (allowed[1] as number)
  execFileSync('taskset', ['-a', '-c', '-p', String(generator), String(process.pid)])
  return { server, generator, allowed }
}

/** Puts a process that runs already, with what it has started, on these cores. */
export function pin(pid: number, ...cores: readonly number[]): void {
  for (const one of withDescendants([pid])) execFileSync('taskset', ['-a', '-c', '-p', cores.join(','), String(one)])
}

/** Of a list such as `0-2,5`. */
function numbers(list: string): number[] {
  return list
    .trim()
    .split(',')
    .flatMap((part) => {
      const [from, to = from] = part.split('-').map(Number)
      return from === undefined || to === undefined ? [] : Array.from({ length: to - from + 1 }, (_, i) => from + i)
    })
}

/** Seconds that a core has been busy and idle. */
export interface CoreTime {
  readonly busy: number
  readonly idle: number
}

export function coreTime(core: number): CoreTime {
  const line = readFileSync('/proc/stat', 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`cpu${core} `))
  const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, hard = 0, soft = 0, stolen = 0] = (line ?? '')
    .split(' ')
    .slice(1)
    .map(Number)
  return { busy: (user + nice + system + hard + soft + stolen) / 100, idle: (idle + waiting) / 100 }
}

/** From 0 to 1. */
export function busyShare(before: CoreTime, after: CoreTime): number {
  const busy = after.busy - before.busy
  return busy / Math.max(0.01, busy + after.idle - before.idle)
}

/** What share of a second all cores together are at work before anything is measured, from 0 to 1. */
export async function busyElsewhere(): Promise<number> {
  const before = cpus().map((_cpu, core) => coreTime(core))
  await delay(1_000)
  const shares = before.map((time, core) => busyShare(time, coreTime(core)))
  return shares.reduce((sum, share) => sum + share, 0) / shares.length
}

export function machineName(): string {
  return `${cpus().length} × ${cpus()[0]?.model.trim()}, Node ${process.version}`
}
