/** The part for every change: CPU a request beside that of a bare `node:http`, which says on any machine whether a row became dearer. */
import { ashlar } from '../contenders/ashlar.ts'
import { buildServers, startConstant } from '../contenders/by-hand.ts'
import type { Contender } from '../contenders/contender.ts'
import { median } from '../rows/figures.ts'
import { type Bench, measure } from '../rows/measure.ts'
import { nextVehicles, rows } from '../rows/rows.ts'
import { discard, fill } from './fill.ts'

const objects = 5_000
const rounds = 3
/** Of a run; on a busy machine it ends with fewer requests than there are. */
const seconds = 0.4
const requestsMax = 6_000
const bulk = { requests: 10, objects: 1_000, connections: 4 }

/** By row: CPU a request (of bulk: an object), divided by that of a constant reply of `node:http` in the same run. */
export async function measureChanges(bench: Bench): Promise<Record<string, number>> {
  await buildServers()
  const bare = await startConstant('constant-http', bench.cores?.server)
  try {
    const { contender } = await fill(bench, ashlar(), objects)
    try {
      return await ratios(bench, contender, () => {
        const list = [{ method: 'GET', path: '/vehicle/1' } as const]
        return measure(bench, bare, { connections: 64, requests: list, isOnce: false, seconds })
      })
    } finally {
      await discard(contender)
    }
  } finally {
    await bare.stop()
  }
}

async function ratios(
  bench: Bench,
  contender: Contender,
  runBare: () => ReturnType<typeof measure>,
): Promise<Record<string, number>> {
  const bare: number[] = []
  const runs = new Map<string, number[]>()
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    const { cpuMicroseconds } = await runBare()
    if (round > 0) bare.push(cpuMicroseconds)
    for (const [name, cpu] of await oneRound(bench, contender)) {
      if (round > 0) runs.set(name, [...(runs.get(name) ?? []), cpu])
    }
    process.stderr.write('.')
  }
  return Object.fromEntries(
    [...runs].map(([name, cpus]) => [name, Number((median(cpus) / median(bare)).toPrecision(3))]),
  )
}

/** CPU µs by row. */
async function oneRound(bench: Bench, contender: Contender): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for (const row of rows) {
    await row.prepare?.(contender, 1)
    const list = row.requests(contender, requestsMax) ?? []
    const load = { connections: row.connections, requests: list, isOnce: row.isOnce, seconds }
    found.set(row.name, (await measure(bench, contender.server, load)).cpuMicroseconds)
  }
  const bodies = Array.from({ length: bulk.requests }, () =>
    contender.forms.createMany(nextVehicles(contender, bulk.objects)),
  )
  const load = { connections: bulk.connections, requests: bodies, isOnce: true, seconds }
  found.set('bulk', (await measure(bench, contender.server, load, bulk.objects)).cpuMicroseconds)
  return found
}
