/** What a server takes besides time: memory at rest and at its peak, CPU until its first answer, and disk. */
import { setTimeout as delay } from 'node:timers/promises'
import type { ChildServer } from '../child-server.ts'
import type { Contender, ContenderKind } from '../contenders/contender.ts'
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

interface FootprintOptions {
  readonly rounds: number
  readonly idleSeconds: number
}

/** Each is started so many times, one after the other; then all rest, and keep running. */
export async function measureFootprints(
  bench: Bench,
  contenders: readonly Contender[],
  { rounds, idleSeconds }: FootprintOptions,
): Promise<Map<string, Footprint>> {
  const found = new Map<string, { startCpuSeconds: number; disk: number }>()
  for (const contender of contenders) {
    const startCpuSeconds = await startCpuOf(bench, contender, rounds)
    await contender.server.stop()
    const disk = Math.round(((await contender.place.bytes()) / 2 ** 20) * 10) / 10
    found.set(contender.kind.name, { startCpuSeconds, disk })
    contender.server = await contender.kind.start(contender.place, bench.cores?.server)
  }
  await delay(idleSeconds * 1_000)
  return new Map(
    contenders.map(({ kind: { name }, server }) => {
      const { startCpuSeconds = 0, disk = 0 } = found.get(name) ?? {}
      return [name, { startCpuSeconds, ...idleMemoryOf(server), peakOwn: 0, disk }]
    }),
  )
}

/** Of the same store, served in another way; then it is served as before. What it takes of the disk is the same, and its peak is not looked at. */
export async function measureVariant(
  bench: Bench,
  contender: Contender,
  variant: ContenderKind,
  { rounds, idleSeconds }: FootprintOptions,
): Promise<Partial<Footprint>> {
  await contender.server.stop()
  const server = await variant.start(contender.place, bench.cores?.server)
  const served = { ...contender, kind: variant, server }
  try {
    const startCpuSeconds = await startCpuOf(bench, served, rounds)
    await startAgain(bench, served)
    await delay(idleSeconds * 1_000)
    return { startCpuSeconds, ...idleMemoryOf(served.server) }
  } finally {
    await served.server.stop()
    contender.server = await contender.kind.start(contender.place, bench.cores?.server)
  }
}

/** The median of so many starts. */
async function startCpuOf(bench: Bench, contender: Contender, rounds: number): Promise<number> {
  const seconds: number[] = []
  for (let round = 0; round < rounds; round++) {
    await startAgain(bench, contender)
    const read = contender.forms.read(contender.ids[0] as string)
    const reply = await fetch(contender.server.url + read.path)
    if (!reply.ok) throw new Error(`${contender.kind.name}: ${read.path} is answered with ${reply.status}`)
    await reply.text()
    seconds.push(contender.server.cpuSeconds())
  }
  return median(seconds)
}

function idleMemoryOf(
  server: ChildServer,
): Pick<Footprint, 'idleResident' | 'idleProportional' | 'idleOncePerPage' | 'idleOwn'> {
  const { resident, own } = server.memory()
  return {
    idleResident: resident,
    idleProportional: server.proportionalMemory(),
    idleOncePerPage: server.memoryOncePerPage(),
    idleOwn: own,
  }
}
