/**
 * Two checkouts side by side: `node --import tsx bench/compare.ts <other checkout> [rounds]`, both built. Each operation is sent to the
 * one and the other by turns, so that both meet the same moments of the machine; what counts is the median of the rounds' ratios of CPU time.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { AshlarClient } from '@ashlar/client'
import { type ChildServer, startChild } from './child-server.ts'
import { type Measured, measure, type Scenario } from './load.ts'
import {
  bulkScenario,
  createVehicles,
  type Fleet,
  fillFleet,
  queryScenarios,
  readScenario,
  writeScenarios,
} from './scenarios.ts'

/** Requests a round: about a second, so that what the connections of each round cost at their beginning does not count. */
const requests: Record<string, number> = { read: 32_000, equality: 12_000, range: 1_500, bulk: 100, delete: 6_400 }
const requestsOtherwise = 10_000
const objects = Number(process.env.BENCH_OBJECTS ?? 20_000)
const [other, rounds = '10', only] = process.argv.slice(2)
const pinned = existsSync('/usr/bin/taskset')

interface Side {
  readonly server: ChildServer
  readonly data: string
  readonly scenarios: readonly Scenario[]
  /** Creates what the next round deletes. */
  refill(): Promise<void>
}

if (other === undefined)
  throw new Error('usage: node --import tsx bench/compare.ts <other checkout> [rounds] [operation,…]')
const sides: Side[] = []
try {
  for (const checkout of [resolve(other), process.cwd()]) sides.push(await start(checkout))
  print(await compare())
} finally {
  for (const { server, data } of sides) {
    await server.stop()
    rmSync(data, { recursive: true, force: true })
  }
}

async function start(checkout: string): Promise<Side> {
  const data = mkdtempSync(join(tmpdir(), 'ashlar-compare-'))
  const words = ['serve', '--port', '0', '--data', data, '--log-level', 'warn']
  const program = join(checkout, 'packages/server/dist/cli/main.js')
  const server = await startChild([program, ...words], pinned ? ['taskset', '-c', '0'] : [])
  const client = new AshlarClient({ baseUrl: server.url })
  const fleet = await fillFleet(client, objects)
  const doomed: string[] = []
  const refill = async (): Promise<void> => {
    doomed.splice(0)
    while (doomed.length < (requests.delete as number)) doomed.push(...(await createVehicles(client, fleet)))
  }
  return { server, data, scenarios: scenariosOf(fleet, doomed), refill }
}

function scenariosOf(fleet: Fleet, doomed: string[]): Scenario[] {
  const all = [readScenario(fleet), ...queryScenarios(fleet), ...writeScenarios(fleet, doomed), bulkScenario(fleet)]
  return all
    .filter(({ name }) => only === undefined || only.split(',').includes(name))
    .map((scenario) => ({ ...scenario, amount: requests[scenario.name] ?? requestsOtherwise }))
}

/** By operation: what each round measured of the other checkout and of this one. */
async function compare(): Promise<Map<string, (readonly [Measured, Measured])[]>> {
  const measured = new Map<string, (readonly [Measured, Measured])[]>()
  const { scenarios } = sides[0] as Side
  // The first round warms both up.
  for (let round = 0; round <= Number(rounds); round++) {
    for (const [nth, { name }] of scenarios.entries()) {
      // Each goes first as often as the other.
      const order = round % 2 === 0 ? [0, 1] : [1, 0]
      const pair: Measured[] = []
      for (const side of order) {
        const { server, scenarios, refill } = sides[side] as Side
        if (name === 'delete') await refill()
        pair[side] = await measure(server, scenarios[nth] as Scenario, 0)
        process.stderr.write('.')
      }
      if (round > 0) measured.set(name, [...(measured.get(name) ?? []), pair as unknown as [Measured, Measured]])
    }
  }
  return measured
}

function print(measured: Awaited<ReturnType<typeof compare>>): void {
  const rows = [...measured].map(([operation, pairs]) => {
    const ratios = pairs.map(([one, two]) => two.cpuMicrosecondsPerRequest / one.cpuMicrosecondsPerRequest)
    return {
      operation,
      'other µs': median(pairs.map(([one]) => one.cpuMicrosecondsPerRequest)),
      'this µs': median(pairs.map(([, two]) => two.cpuMicrosecondsPerRequest)),
      ratio: rounded(median(ratios)),
      least: rounded(Math.min(...ratios)),
      most: rounded(Math.max(...ratios)),
      refused: pairs.reduce((sum, pair) => sum + pair[0].refused + pair[1].refused, 0),
    }
  })
  console.table(rows)
  const [before, after] = sides.map(({ server }) => server.memory().peak)
  process.stdout.write(
    `CPU of the server's processes a request; ${rounds} rounds, ${objects} objects; peak memory ${before} → ${after} MiB\n`,
  )
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : rounded(((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2)
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
