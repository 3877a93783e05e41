/** A server in processes of its own, whose CPU time can be read. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

export interface ChildServer {
  readonly url: string
  /** User and system time so far. */
  cpuSeconds(): number
  /** Resident and peak memory in MiB; `own` leaves out the pages of files, such as those of the store. */
  memory(): { readonly resident: number; readonly own: number; readonly peak: number }
  stop(): Promise<void>
}

/** Starts `node` with these arguments; the first line it prints must hold its URL. `before`: a command that starts `node`. */
export async function startChild(words: readonly string[], before: readonly string[] = []): Promise<ChildServer> {
  const [command, ...rest] = [...before, process.execPath, ...words]
  const child = spawn(command as string, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
  const url = await firstUrl(child)
  const { pid } = child
  return {
    url,
    cpuSeconds() {
      return processes(pid).reduce((total, one) => total + cpuSecondsOf(one), 0)
    },
    memory() {
      const statuses = processes(pid).map((one) => readFileSync(`/proc/${one}/status`, 'utf8'))
      const kibibytes = (status: string, name: string): number => {
        return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0)
      }
      const mebibytes = (name: string): number => {
        return Math.round(statuses.reduce((total, status) => total + kibibytes(status, name), 0) / 1024)
      }
      return { resident: mebibytes('VmRSS'), own: mebibytes('RssAnon'), peak: mebibytes('VmHWM') }
    },
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** The one that was started, and those that it has started. */
function processes(pid: number | undefined): string[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return [String(pid), ...children.split(' ').filter(Boolean)]
}

/** Of the threads that it has now: to the nanosecond, where the statistics of the process are in hundredths of a second. */
function cpuSecondsOf(pid: string): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  const nanoseconds = threads.map((thread) => {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0])
  })
  return nanoseconds.reduce((total, one) => total + one, 0) / 1e9
}

async function firstUrl(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the child has no output')
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /http:\/\/[\w.:[\]]+/.exec(line)?.[0]
    if (url !== undefined) return url
  }
  throw new Error('the server ended before it listened')
}
