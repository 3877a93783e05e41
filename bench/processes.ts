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

/**
 * MiB of all of them together, where a page counts once, however many of them or of others on the machine map it: as the accounting
 * of a container counts it. Private and anonymous pages are added up. Of the shared pages of a file, those of the process that has most of them resident count, of each
 * mapping (the same part of the same file with the same rights): pages that another shares only with processes outside are left out.
 */
export function memoryOncePerPageOf(pids: readonly number[]): number {
  return Math.round(kibibytesOncePerPage(pids.map((pid) => readFileSync(`/proc/${pid}/smaps`, 'utf8'))) / 1024)
}

/** As `memoryOncePerPageOf`, in KiB, of the texts of their `/proc/<pid>/smaps`. */
export function kibibytesOncePerPage(processes: readonly string[]): number {
  let own = 0
  const ofFiles = new Map<string, number>()
  for (const smaps of processes) {
    const inProcess = new Map<string, number>()
    for (const mapping of smaps.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m).filter(Boolean)) {
      const { privates, shared, key } = readMapping(mapping)
      own += privates
      if (key === undefined) own += shared
      else inProcess.set(key, (inProcess.get(key) ?? 0) + shared)
    }
    for (const [key, shared] of inProcess) ofFiles.set(key, Math.max(ofFiles.get(key) ?? 0, shared))
  }
  return [...ofFiles.values()].reduce((total, one) => total + one, own)
}

/** In KiB. `key`: of the mapped part of a file; undefined where no file is mapped. */
function readMapping(mapping: string): { privates: number; shared: number; key: string | undefined } {
  const [, rights = '', offset = '', device = '', inode = '0'] = mapping.split('\n', 1).join().split(/ +/)
  const sizeOf = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(mapping)?.[1] ?? 0)
  const [privates, shared] = ['Private', 'Shared'].map((kind) => sizeOf(`${kind}_Clean`) + sizeOf(`${kind}_Dirty`))
  const key = inode === '0' ? undefined : [device, inode, offset, rights].join(' ')
  return { privates: privates ?? 0, shared: shared ?? 0, key }
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
