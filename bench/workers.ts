/**
 * Measures the built server with one worker and with two against each other, in turn in one run, on LMDB and on PostgreSQL.
 * Run: node --import tsx bench/workers.ts
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AshlarClient } from '@ashlar/client'
import { startPostgres } from '../tools/temporary-postgres.ts'
import { type ChildServer, startChild } from './child-server.ts'
import { measure, type Scenario } from './load.ts'
import { fillFleet, readScenario, writeScenarios } from './scenarios.ts'

const seconds = Number(process.env.BENCH_SECONDS ?? 3)
const objects = 5_000
const rounds = 3
const directory = mkdtempSync(join(tmpdir(), 'ashlar-bench-'))
const postgres = await startPostgres({ isDurable: true })

function start(workers: number, store: string): Promise<ChildServer> {
  const words = ['--port', '0', '--workers', String(workers), '--fd', `bench=${store}`, '--log-level', 'warn']
  return startChild(['packages/server/dist/cli/main.js', 'serve', ...words])
}

/** Groups a tenth of the vehicles: work that takes a while on the server, and little of the one who asks. */
const grouping: Scenario = {
  name: 'query: group 5,000 objects',
  connections: 8,
  next: () => ({
    method: 'POST',
    path: '/v1/query',
    body: JSON.stringify({ query: 'FROM Vehicle GROUP BY year RETURN year, COUNT() AS n, AVG(mileage) AS m' }),
  }),
}

async function compare(name: string, store: string): Promise<void> {
  const servers = [await start(1, store), await start(2, store)] as const
  const fleet = await fillFleet(new AshlarClient({ baseUrl: servers[0].url }), objects)
  const [create, update] = writeScenarios(fleet, [...fleet.oids]) as [Scenario, Scenario, Scenario]
  const figures: Record<string, { 'one /s': number; 'two /s': number; ratio: number; refused: number }> = {}
  for (const scenario of [readScenario(fleet), grouping, create, update]) {
    const pairs: { one: number; two: number; refused: number }[] = []
    for (let round = 0; round < rounds; round++) {
      const [one, two] = [await measure(servers[0], scenario, seconds), await measure(servers[1], scenario, seconds)]
      const refused = one.refused + two.refused
      pairs.push({ one: one.requestsPerSecond, two: two.requestsPerSecond, refused })
    }
    const middle = pairs.sort((a, b) => a.two / a.one - b.two / b.one)[Math.floor(rounds / 2)]
    if (middle === undefined) continue
    const ratio = Number((middle.two / middle.one).toFixed(2))
    figures[scenario.name] = { 'one /s': middle.one, 'two /s': middle.two, ratio, refused: middle.refused }
  }
  process.stdout.write(`${name}: one worker, two workers; ${seconds} s each, the middle of ${rounds} pairs\n`)
  console.table(figures)
  for (const server of servers) await server.stop()
}

try {
  await compare('LMDB', `lmdb:${directory}`)
  await compare('PostgreSQL', postgres.address)
} finally {
  await postgres.stop()
  rmSync(directory, { recursive: true, force: true })
}
