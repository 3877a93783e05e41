/** What Linux tells of processes and of those that they have started: CPU time and memory (`/proc`). */
import { readdirSync, readFileSync } from 'node:fs'

export function withDescendants(pids: readonly number[]): number[] {
  return pids.flatMap((pid) => {
    const threads = readdirSync(`/proc/${pid}/task`)
    const children = threads.flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' '),
    )
    return [pid, ...withDescendants(children.filter(Boolean).map(Number))]
  })
}

/** User and system time of the threads that it has now: to the nanosecond, where the statistics of the process are in hundredths of a second. */
export function cpuSecondsOf(pid: number): number {
  const nanoseconds = readdirSync(`/proc/${pid}/task`).map((thread) => {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0])
  })
  return nanoseconds.reduce((total, one) => total + one, 0) / 1e9
}

/** In MiB: `own` leaves out the pages of files, such as those of the store, and what processes share; `peak` is the most that was resident. */
export interface Memory {
  readonly resident: number
  readonly own: number
  readonly peak: number
}

/**
 * MiB of all of them together, where a page that several processes map counts once, divided among these: what the machine gives for them. The
 * pages of the program `node` alone are 33 MiB in the RSS of each process. Takes the kernel a millisecond.
 */
export function proportionalMemoryOf(pids: readonly number[]): number {
  const kibibytes = pids.map((pid) => {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0)
  })
  return Math.round(kibibytes.reduce((total, one) => total + one, 0) / 1024)
}

/** Of all of them together. */
export function memoryOf(pids: readonly number[]): Memory {
  const statuses = pids.map((pid) => readFileSync(`/proc/${pid}/status`, 'utf8'))
  const mebibytes = (name: string): number => {
    const of = (status: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0)
    return Math.round(statuses.reduce((total, status) => total + of(status), 0) / 1024)
  }
  return { resident: mebibytes('VmRSS'), own: mebibytes('RssAnon'), peak: mebibytes('VmHWM') }
}
