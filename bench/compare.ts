/**
 * Two checkouts side by side: `node --import tsx bench/compare.ts <other checkout> [rounds] [row,…] [--postgres] [--request-log]`, both built. Each operation is sent
 * to the one and the other by turns, so that both meet the same moments of the machine; what counts is the median of the rounds' ratios of CPU time.
 */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { RunningPostgres } from '../tools/temporary-postgres.ts'
import { ashlar, ashlarOn } from './contenders/ashlar.ts'
import type { Contender, ContenderKind } from './contenders/contender.ts'
import { openSocketGenerator } from './load/generators.ts'
import type { BenchRequest } from './load/load.ts'
import { takeCores } from './machine.ts'
import { discard, fill, fillByLines } from './parts/fill.ts'
import { withDatabase } from './parts/postgres.ts'
import { type Figures, median } from './rows/figures.ts'
import { type Bench, measure } from './rows/measure.ts'
import { nextVehicles, rows } from './rows/rows.ts'

/** Requests a round: about a second, so that what the connections of each round cost at their beginning does not count. */
const requests: Record<string, number> = {
  read: 32_000,
  equality: 12_000,
  range: 1_500,
  'two-hops': 1_500,
  delete: 6_400,
  bulk: 100,
}
const requestsOtherwise = 10_000
/** A hundred creations as one commit, by so many clients. */
const bulk = { objects: 100, connections: 8 }
/** Only where they are asked for: fresh stores are filled by new processes, as `npm run bench` does for its rows of bulk; of objects. */
const fillings = ['fill', 'bulk-ndjson']
const secondsMax = 300
const objects = Number(process.env.BENCH_OBJECTS ?? 20_000)
/** Of the requests of each round: on a machine where others work, many short rounds tell more than few long ones. */
const share = Number(process.env.BENCH_SHARE ?? 1)
/** Rounds that warm both up. */
const warmUps = Math.ceil(1 / share)
const { values: flags, positionals } = parseArgs({
  options: { postgres: { type: 'boolean' }, 'request-log': { type: 'boolean' } },
  allowPositionals: true,
})
const [other, rounds = '10', only] = positionals

type Pair = readonly [Figures, Figures]

if (other === undefined) {
  throw new Error(
    'usage: node --import tsx bench/compare.ts <other checkout> [rounds] [row,…] [--postgres] [--request-log]',
  )
}
const bench: Bench = { cores: takeCores(), generator: openSocketGenerator() }
const sides: Contender[] = []
const databases: RunningPostgres[] = []
const peaks: number[] = []
try {
  for (const [side, checkout] of [resolve(other), process.cwd()].entries()) {
    const hasLog = side === 1 && flags['request-log'] === true
    sides.push((await fill(bench, await kindOf(checkout, hasLog), objects)).contender)
  }
  const measured = await compare()
  peaks.push(...sides.map(({ server }) => server.memory().peak))
  print(measured)
} finally {
  for (const side of sides) await discard(side)
  for (const database of databases) await database.stop()
  await bench.generator.close()
}

async function kindOf(checkout: string, hasLog: boolean): Promise<ContenderKind> {
  if (flags.postgres !== true) return ashlar({ checkout, hasLog })
  return withDatabase(bench, databases, (places, beside) => ashlarOn(places, beside, checkout))
}

/** By operation: what each round measured of the other checkout and of this one. */
async function compare(): Promise<Map<string, Pair[]>> {
  const measured = new Map<string, Pair[]>()
  const all = [...rows.map(({ name }) => name), 'bulk', ...fillings]
  const names = all.filter((name) => (only === undefined ? !fillings.includes(name) : only.split(',').includes(name)))
  // What is new in each round has nothing to warm up.
  const before = names.every((name) => fillings.includes(name)) ? 0 : warmUps
  for (let round = 0; round < Number(rounds) + before; round++) {
    for (const name of names) {
      // Each goes first as often as the other.
      const order = round % 2 === 0 ? [0, 1] : [1, 0]
      const pair: Figures[] = []
      for (const side of order) {
        pair[side] = await measureOnce(name, sides[side] as Contender)
        process.stderr.write('.')
      }
      if (round >= before) measured.set(name, [...(measured.get(name) ?? []), pair as unknown as Pair])
    }
  }
  return measured
}

async function measureOnce(name: string, side: Contender): Promise<Figures> {
  const count = Math.ceil((requests[name] ?? requestsOtherwise) * share)
  if (name === 'fill') {
    const filled = await fill(bench, side.kind, objects)
    await discard(filled.contender)
    return filled.bulk
  }
  if (name === 'bulk-ndjson') {
    const filled = await fillByLines(bench, side.kind, objects)
    if (filled === undefined) throw new Error(`${side.kind.name} takes no lines`)
    return filled
  }
  if (name === 'bulk') {
    const list = Array.from({ length: count }, () => side.forms.createMany(nextVehicles(side, bulk.objects)))
    return measure(bench, side.server, { ...once(list), connections: bulk.connections })
  }
  const row = rows.find((one) => one.name === name)
  if (row === undefined) throw new Error(`there is no row "${name}"`)
  if (row.prepare !== undefined) {
    await createMore(side, count)
    await row.prepare(side, 1)
  }
  const list = row.requests(side, count) ?? []
  return measure(bench, side.server, { ...once(list), connections: row.connections })
}

function once(list: readonly BenchRequest[]) {
  return { requests: list, isOnce: true, seconds: secondsMax }
}

/** What a round deletes. */
async function createMore(side: Contender, count: number): Promise<void> {
  const list = nextVehicles(side, count).map((one) => side.forms.create(one))
  await measure(bench, side.server, { ...once(list), connections: 32 })
}

function print(measured: ReadonlyMap<string, readonly Pair[]>): void {
  const table = [...measured].map(([operation, pairs]) => {
    const ratios = pairs.map(([one, two]) => two.cpuMicroseconds / one.cpuMicroseconds)
    return {
      operation,
      'other µs': rounded(median(pairs.map(([one]) => one.cpuMicroseconds)), 1),
      'this µs': rounded(median(pairs.map(([, two]) => two.cpuMicroseconds)), 1),
      ratio: rounded(median(ratios), 3),
      least: rounded(Math.min(...ratios), 3),
      'lower quartile': rounded(quantile(ratios, 1 / 4), 3),
      'upper quartile': rounded(quantile(ratios, 3 / 4), 3),
      most: rounded(Math.max(...ratios), 3),
      refused: pairs.reduce((sum, pair) => sum + pair[0].refused + pair[1].refused, 0),
    }
  })
  console.table(table)
  process.stdout.write(
    `CPU of the server's processes a request; ${rounds} rounds, ${objects} objects; peak memory ${peaks.join(' → ')} MiB\n`,
  )
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, another) => one - another)
  return sorted[Math.floor(part * (sorted.length - 1))] ?? Number.NaN
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
