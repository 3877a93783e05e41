/** A server in processes of its own, whose CPU time and memory can be read. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  cpuSecondsOf,
  type Memory,
  memoryOf,
  memoryOncePerPageOf,
  proportionalMemoryOf,
  withDescendants,
} from './processes.ts'

export interface ChildServer {
  readonly url: string
  /** So far, of its processes and of those beside it. */
  cpuSeconds(): number
  /** Of its processes. */
  memory(): Memory
  /** The same without what they share with others: see `proportionalMemoryOf`. */
  proportionalMemory(): number
  /** MiB, where each page counts once: see `memoryOncePerPageOf`. */
  memoryOncePerPage(): number
  stop(): Promise<void>
}

export interface ChildOptions {
  /** The core on which it runs; any where it is undefined. */
  readonly core?: number | undefined
  /** Processes whose CPU time counts as the server's, with those that they have started: its database, for instance. */
  readonly beside?: readonly number[]
  /** Environment variables beside ours. */
  readonly env?: Readonly<Record<string, string>>
}

/** Starts `node` with these arguments; it must print its URL. What it prints goes to a file, lest its log make work for whoever started it. */
export async function startChild(
  words: readonly string[],
  { core, beside = [], env = {} }: ChildOptions = {},
): Promise<ChildServer> {
  const pinned = core === undefined ? [] : ['taskset', '-c', String(core)]
  const [command, ...rest] = [...pinned, process.execPath, ...words]
  const folder = mkdtempSync(join(tmpdir(), 'ashlar-server-'))
  const log = join(folder, 'log')
  const file = openSync(log, 'w')
  // Node parses all its certificates at each start where some are given here, which has nothing to do with any server.
  const { NODE_EXTRA_CA_CERTS: _, ...environment } = process.env
  const child = spawn(command as string, rest, { env: { ...environment, ...env }, stdio: ['ignore', file, file] })
  closeSync(file)
  const pid = child.pid as number
  endWithUs(child)
  try {
    const url = await printedUrl(child, log)
    return {
      url,
      cpuSeconds: () => withDescendants([pid, ...beside]).reduce((sum, one) => sum + cpuSecondsOf(one), 0),
      memory: () => memoryOf(withDescendants([pid])),
      proportionalMemory: () => proportionalMemoryOf(withDescendants([pid])),
      memoryOncePerPage: () => memoryOncePerPageOf(withDescendants([pid])),
      async stop() {
        const ended = once(child, 'exit')
        child.kill('SIGTERM')
        await ended
        rmSync(folder, { recursive: true })
      },
    }
  } catch (error) {
    rmSync(folder, { recursive: true })
    throw error
  }
}

const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const running = new Set<ChildProcess>()

/** Whoever ends a measurement before its time must not find its servers later. */
function endWithUs(child: ChildProcess): void {
  if (running.size === 0) {
    process.on('exit', killAll)
    for (const signal of endings) process.on(signal, endEarly)
  }
  running.add(child)
  child.once('exit', () => {
    running.delete(child)
    if (running.size > 0) return
    process.off('exit', killAll)
    for (const signal of endings) process.off(signal, endEarly)
  })
}

function killAll(): void {
  for (const child of running) child.kill('SIGTERM')
}

function endEarly(): void {
  process.exit(1)
}

async function printedUrl(child: ChildProcess, log: string): Promise<string> {
  for (;;) {
    const url = /https?:\/\/[\w.:[\]]+/.exec(readFileSync(log, 'utf8'))?.[0]
    if (url !== undefined) return url
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`it ended before it listened: ${reasonIn(log)}`)
    await delay(5)
  }
}

/** The line that names the error, if there is one. */
function reasonIn(log: string): string {
  const lines = readFileSync(log, 'utf8').trim().split('\n')
  return lines.find((line) => /error/i.test(line)) ?? lines.at(-1) ?? ''
}
