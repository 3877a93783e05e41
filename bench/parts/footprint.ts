/** What a server takes besides time: memory at rest and at its peak, CPU until its first answer, and disk. */
import { setTimeout as delay } from 'node:timers/promises'
import type { ChildServer } from '../child-server.ts'
import type { Contender } from '../contenders/contender.ts'
import { median } from '../rows/figures.ts'
import type { Bench } from '../rows/measure.ts'
import { startAgain } from './fill.ts'

export interface Footprint {
  /** CPU from the start of the process to its first answer. */
  readonly startCpuSeconds: number
  /** MiB, a while after the start, before any other request. */
  readonly idleResident: number
  /** The same, where pages that several processes share are divided among them (PSS). */
  readonly idleProportional: number
  /** The same, where each page counts once, as a container counts it. */
  readonly idleOncePerPage: number
  readonly idleOwn: number
  /** MiB of anonymous memory, the most that was seen. */
  peakOwn: number
  /** MiB on the disk after the objects were created in bulk, and the server stopped. */
  readonly disk: number
}

const peakIntervalMs = 100

/** Looks at the memory of servers until it is ended; a server that has gone counts no more. */
export function watchPeaks(servers: () => Iterable<readonly [string, ChildServer]>): { end(): Map<string, number> } {
  const peaks = new Map<string, number>()
  const timer = setInterval(() => {
    for (const [name, server] of servers()) peaks.set(name, Math.max(peaks.get(name) ?? 0, ownMemory(server)))
  }, peakIntervalMs)
  return {
    end() {
      clearInterval(timer)
      return peaks
    },
  }
}

function ownMemory(server: ChildServer): number {
  try {
    return server.memory().own
  } catch (error) {
    // Between the end of one process and the start of the next.
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return 0
    throw error
  }
}

/** Each is started so many times, one after the other; then all rest, and keep running. */
export async function measureFootprints(
  bench: Bench,
  contenders: readonly Contender[],
  { rounds, idleSeconds }: { rounds: number; idleSeconds: number },
): Promise<Map<string, Footprint>> {
  const starts = new Map<string, number[]>()
  const disks = new Map<string, number>()
  for (const contender of contenders) {
    const { name } = contender.kind
    for (let round = 0; round < rounds; round++) {
      await startAgain(bench, contender)
      const read = contender.forms.read(contender.ids[0] as string)
      const reply = await fetch(contender.server.url + read.path)
      if (!reply.ok) throw new Error(`${name}: ${read.path} is answered with ${reply.status}`)
      await reply.text()
      starts.set(name, [...(starts.get(name) ?? []), contender.server.cpuSeconds()])
    }
    await contender.server.stop()
    disks.set(name, Math.round(((await contender.place.bytes()) / 2 ** 20) * 10) / 10)
    contender.server = await contender.kind.start(contender.place, bench.cores?.server)
  }
  await delay(idleSeconds * 1_000)
  return new Map(
    contenders.map(({ kind: { name }, server }) => {
      const { resident, own } = server.memory()
      const startCpuSeconds = median(starts.get(name) ?? [])
      const idle = {
        idleResident: resident,
        idleProportional: server.proportionalMemory(),
        idleOncePerPage: server.memoryOncePerPage(),
        idleOwn: own,
      }
      return [name, { startCpuSeconds, ...idle, peakOwn: 0, disk: disks.get(name) ?? 0 }]
    }),
  )
}
