/** `ashlar compact` of the largest store, on a running server, beside clients that read and write. */
import { execFile } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Contender } from '../contenders/contender.ts'
import type { BenchRequest } from '../load/load.ts'
import { programOf } from '../program.ts'
import { median } from '../rows/figures.ts'
import { type Curve, upTo } from './curve.ts'

const sizes = [100_000, 10_000_000]
const readMsMost = 200
const writeMsMost = 2_000
const readers = 4
const writers = 8
/** Between two requests of a client: the compaction shares the machine with them. */
const pauseMs = 5
const calmMs = 5_000

interface Waits {
  readonly reads: number[]
  readonly writes: number[]
  refused: number
}

interface Compacted {
  readonly calm: Waits
  readonly during: Waits
  readonly seconds: number
  /** As the command tells it. */
  readonly aloneMs: number
  /** MiB on the disk. */
  readonly before: number
  readonly after: number
}

export const compact: Curve = {
  name: 'compact',
  title: 'Compaction of a store that is served',
  async measure(_bench, stores, { largest }) {
    const columns = upTo(largest, sizes)
    const found: Compacted[] = []
    for (const size of columns) found.push(await compactBeside((await stores.of(size)).contender))
    const line = (name: string, unit: string, of: (one: Compacted) => number, most?: number) => {
      return { name, unit, values: found.map(of), ...(most === undefined ? {} : { most }) }
    }
    const worst = (values: readonly number[]): number => values.reduce((max, value) => Math.max(max, value), 0)
    const lines = [
      line('it takes', 's', ({ seconds }) => seconds),
      line('file before', 'MiB', ({ before }) => before),
      line('file after', 'MiB', ({ after }) => after),
      line('longest read', 'ms', ({ during }) => worst(during.reads), readMsMost),
      line('longest write', 'ms', ({ during }) => worst(during.writes), writeMsMost),
      line('longest read before', 'ms', ({ calm }) => worst(calm.reads)),
      line('longest write before', 'ms', ({ calm }) => worst(calm.writes)),
      line('median write', 'ms', ({ during }) => median(during.writes)),
      line('requests meanwhile', '', ({ during }) => during.reads.length + during.writes.length),
      line('commits waited for the new file', 'ms', ({ aloneMs }) => aloneMs),
      line('refused', '', ({ during }) => during.refused, 0),
    ]
    const notes = [
      `${readers} clients read and ${writers} write, each ${pauseMs} ms after its last answer; the compaction is a process of its own beside them, on the generator's core where there are two.`,
    ]
    return { axis: 'objects', columns, lines, notes }
  },
}

async function compactBeside(contender: Contender): Promise<Compacted> {
  const calm = await waitsWhile(contender, delay(calmMs))
  const before = (await contender.place.bytes()) / 2 ** 20
  const beganAt = performance.now()
  const compaction = promisify(execFile)(process.execPath, [programOf(), 'compact', `lmdb:${contender.place.address}`])
  const during = await waitsWhile(contender, compaction)
  const seconds = (performance.now() - beganAt) / 1_000
  // The old file is given back when the last process has left it.
  await delay(1_000)
  const { stdout } = await compaction
  const aloneMs = Number(/waited for (\d+) ms/.exec(stdout)?.[1])
  return { calm, during, seconds, aloneMs, before, after: (await contender.place.bytes()) / 2 ** 20 }
}

async function waitsWhile(contender: Contender, work: Promise<unknown>): Promise<Waits> {
  const waits: Waits = { reads: [], writes: [], refused: 0 }
  const state = { isOver: false }
  const { ids, forms } = contender
  const any = (): string => ids[Math.floor(Math.random() * ids.length)] as string
  const clients = [
    ...Array.from({ length: readers }, () => converse(() => forms.read(any()), waits.reads)),
    ...Array.from({ length: writers }, (_, nth) => converse(() => forms.update(any(), nth), waits.writes)),
  ]
  const end = (): void => {
    state.isOver = true
  }
  await work.finally(end)
  await Promise.all(clients)
  return waits

  async function converse(request: () => BenchRequest, into: number[]): Promise<void> {
    while (!state.isOver) {
      const { method, path, body = null } = request()
      const headers = body === null ? {} : { 'content-type': 'application/json' }
      const beganAt = performance.now()
      const reply = await fetch(contender.server.url + path, { method, headers, body })
      await reply.arrayBuffer()
      into.push(performance.now() - beganAt)
      if (!reply.ok) waits.refused++
      await delay(pauseMs)
    }
  }
}
