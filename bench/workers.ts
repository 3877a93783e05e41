/**
 * Measures the built server with one worker and with two against each other, in turn in one run, on LMDB and on PostgreSQL.
 * Run: node --import tsx bench/workers.ts
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../tools/temporary-postgres.ts'
import { startChild } from './child-server.ts'
import { setUpAshlar } from './contenders/ashlar.ts'
import type { Contender, ContenderKind } from './contenders/contender.ts'
import { openGenerator } from './load/generators.ts'
import { fill } from './parts/fill.ts'
import { runRow } from './parts/run-rows.ts'
import { programOf } from './program.ts'
import { ratioOf } from './rows/figures.ts'
import type { Bench } from './rows/measure.ts'
import { type Row, rows } from './rows/rows.ts'

const pace = { rounds: 3, seconds: Number(process.env.BENCH_SECONDS ?? 3), warmSeconds: 1 }
const objects = 5_000
const directory = mkdtempSync(join(tmpdir(), 'ashlar-bench-'))
const postgres = await startPostgres({ isDurable: true })
const bench: Bench = { generator: openGenerator(pace.seconds), cores: undefined }

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

function workersOn(store: string, workers: number): ContenderKind {
  return {
    name: `${workers} of ${store}`,
    freshPlace: async () => ({ address: store, bytes: async () => 0, remove: async () => undefined }),
    start: ({ address }) => {
      const words = ['--port', '0', '--workers', String(workers), '--fd', `bench=${address}`, '--log-level', 'warn']
      return startChild([programOf(), 'serve', ...words])
    },
    setUp: setUpAshlar,
  }
}

async function compare(name: string, store: string): Promise<void> {
  const { contender: one } = await fill(bench, workersOn(store, 1), objects)
  const kind = workersOn(store, 2)
  const two: Contender = { ...one, kind, server: await kind.start(one.place, undefined), next: objects + 5_000_000 }
  const figures: Record<string, object> = {}
  for (const row of [...rows.filter(({ name }) => ['read', 'update', 'create'].includes(name)), grouping]) {
    const found = await runRow(bench, row, [one, two], pace)
    const [first, second] = [found[one.kind.name], found[kind.name]]
    if (first === undefined || second === undefined) continue
    figures[row.name] = {
      'one /s': Math.round(first.perSecond),
      'two /s': Math.round(second.perSecond),
      ratio: Number(ratioOf(second, first).toFixed(2)),
      refused: first.refused + second.refused,
    }
  }
  process.stdout.write(
    `\n${name}: one worker, two workers; ${pace.seconds} s each, the median of ${pace.rounds} runs\n`,
  )
  console.table(figures)
  for (const { server } of [one, two]) await server.stop()
}

try {
  await compare('LMDB', `lmdb:${directory}`)
  await compare('PostgreSQL', postgres.address)
} finally {
  await bench.generator.close()
  await postgres.stop()
  rmSync(directory, { recursive: true, force: true })
}
