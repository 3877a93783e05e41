/** One worker to as many as there are cores, on LMDB and on PostgreSQL, in turns on one store. */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../../tools/temporary-postgres.ts'
import { startChild } from '../child-server.ts'
import { setUpAshlar } from '../contenders/ashlar.ts'
import type { Contender, ContenderKind } from '../contenders/contender.ts'
import { pin } from '../machine.ts'
import { fill } from '../parts/fill.ts'
import { runRow } from '../parts/run-rows.ts'
import { programOf, withoutChangeLog } from '../program.ts'
import type { Bench } from '../rows/measure.ts'
import { type Row, rows } from '../rows/rows.ts'
import type { Curve, Line, Measurement, ScaleOptions } from './curve.ts'

const objects = 5_000
const workersMost = 8

/** Groups all vehicles: work that takes a while on the server, and little of the one who asks. */
const grouping: Row = {
  name: 'query that groups 5,000 objects',
  connections: 8,
  isOnce: false,
  requests: () => {
    const query = 'FROM Vehicle GROUP BY year RETURN year, COUNT() AS n, AVG(mileage) AS m'
    return [{ method: 'POST', path: '/v1/query', body: JSON.stringify({ query }) }]
  },
}

export const workers: Curve = {
  name: 'workers',
  title: 'Workers',
  async measure(bench, _stores, options) {
    const { cores } = bench
    // What is started has the cores of who starts it.
    if (cores !== undefined) pin(process.pid, ...cores.allowed)
    try {
      return await measureUnpinned(bench, options)
    } finally {
      if (cores !== undefined) pin(process.pid, cores.generator)
    }
  },
}

async function measureUnpinned(bench: Bench, options: ScaleOptions): Promise<Measurement> {
  const columns = Array.from({ length: Math.min(workersMost, availableParallelism()) }, (_, nth) => nth + 1)
  const directory = mkdtempSync(join(tmpdir(), 'ashlar-bench-'))
  const postgres = await startPostgres({ isDurable: true })
  try {
    const lines = [
      ...(await measureWorkers(bench, 'LMDB', `lmdb:${directory}`, columns, options)),
      ...(await measureWorkers(bench, 'PostgreSQL', postgres.address, columns, options)),
    ]
    const notes = [
      'Nothing is pinned: generator, workers and PostgreSQL share the cores, so that another worker helps only where the server is what there is most to do for. Small writes lose: their commits are grouped, and two processes make two groups of half the size.',
    ]
    return { axis: 'workers', columns, reference: 0, lines, notes, hasLatencies: true }
  } finally {
    await postgres.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function measureWorkers(
  bench: Bench,
  store: string,
  address: string,
  columns: readonly number[],
  { rounds, seconds }: ScaleOptions,
): Promise<Line[]> {
  const unpinned: Bench = { generator: bench.generator, cores: undefined }
  const contenders: Contender[] = []
  try {
    for (const count of columns) contenders.push(await started(unpinned, address, count, contenders[0]))
    const lines: Line[] = []
    for (const row of [...rows.filter(({ name }) => ['read', 'create', 'update'].includes(name)), grouping]) {
      const found = await runRow(unpinned, row, contenders, { rounds, seconds, warmSeconds: 1 })
      lines.push({ name: `${row.name} on ${store}`, figures: contenders.map(({ kind }) => found[kind.name]) })
    }
    return lines
  } finally {
    for (const { server } of contenders) await server.stop()
  }
}

/** The first has filled the store; the others are further servers on it. */
async function started(bench: Bench, address: string, count: number, first: Contender | undefined): Promise<Contender> {
  const kind: ContenderKind = {
    name: String(count),
    freshPlace: async () => ({ address, bytes: async () => 0, remove: async () => undefined }),
    start: () => {
      const words = ['--port', '0', '--workers', String(count), '--fd', `bench=${address}`, '--log-level', 'warn']
      return startChild([programOf(), 'serve', ...words, ...withoutChangeLog('bench')])
    },
    setUp: setUpAshlar,
  }
  if (first === undefined) return (await fill(bench, kind, objects)).contender
  // Numbers of vehicles that no other server creates.
  return { ...first, kind, server: await kind.start(first.place, undefined), next: objects + count * 5_000_000 }
}
