/** Measures the built server and a bare Fastify reply in one run: requests/s, CPU µs a request, ratio. */
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { AshlarClient } from '@ashlar/client'
import { startChild } from './child-server.ts'
import { type Measured, measure, type Scenario } from './load.ts'
import { vehicleIndexes, vehicleSchema } from './vehicles.ts'

const seconds = Number(process.env.BENCH_SECONDS ?? 5)
const objects = Number(process.env.BENCH_OBJECTS ?? 20_000)

const data = mkdtempSync(join(tmpdir(), 'ashlar-bench-'))
const server = await startChild([
  'packages/server/dist/cli/main.js',
  'serve',
  '--port',
  '0',
  '--data',
  data,
  ...process.argv.slice(2),
])
try {
  const client = new AshlarClient({ baseUrl: server.url })
  await client.putSchema(vehicleSchema)
  for (const index of vehicleIndexes) await client.createIndex(index)
  const models: string[] = []
  for (let i = 0; i < 50; i++) models.push((await client.createObject('Model', { name: `model ${i}` })).__identifier__)

  let made = 0
  const vehicle = (): Record<string, unknown> => {
    const n = made++
    return {
      license: `L-${n}`,
      make: 'Ashlar',
      year: 1980 + (n % 45),
      available: n % 2 === 0,
      mileage: n * 7,
      model: models[n % 50],
    }
  }
  const oids: string[] = []
  while (oids.length < objects) {
    const batch = Array.from({ length: 64 }, () => client.createObject('Vehicle', vehicle()))
    for (const { __identifier__ } of await Promise.all(batch)) oids.push(__identifier__)
  }
  const sample = JSON.stringify(await client.readObject(oids[0] as string))
  const bare = await startChild(['--import', 'tsx', 'bench/bare-reply.ts', sample])
  const pick = (): string => oids[Math.floor(Math.random() * oids.length)] as string
  const read: Scenario = {
    name: 'read',
    connections: 64,
    next: () => ({ method: 'GET', path: `/v1/object/${pick()}` }),
  }
  let deleted = 0
  const scenarios: Scenario[] = [
    read,
    {
      name: 'create',
      connections: 32,
      next: () => ({
        method: 'POST',
        path: '/v1/object',
        body: JSON.stringify({ class: 'Vehicle', attributes: vehicle() }),
      }),
    },
    {
      name: 'update',
      connections: 32,
      next: () => ({
        method: 'PUT',
        path: `/v1/object/${pick()}`,
        body: JSON.stringify({ attributes: { mileage: Math.floor(Math.random() * 1e6), available: true } }),
      }),
    },
    {
      name: 'delete',
      connections: 32,
      next: () => ({ method: 'DELETE', path: `/v1/object/${oids[deleted++ % oids.length]}` }),
    },
  ]
  await measure(server, read, 1)
  const limit = await measure(bare, { ...read, name: 'bare Fastify reply' }, seconds)
  const rows: Measured[] = [limit]
  for (const scenario of scenarios) {
    if (scenario.name === 'delete') break
    rows.push(await measure(server, scenario, seconds))
  }
  const again = await measure(bare, { ...read, name: 'bare, again' }, seconds)
  // Deletions end when there is nothing left, so they are fewer and shorter.
  rows.push(again, await measure(server, scenarios[3] as Scenario, Math.min(seconds, Math.max(1, objects / 15_000))))
  print(rows, (limit.cpuMicrosecondsPerRequest + again.cpuMicrosecondsPerRequest) / 2)
  process.stdout.write(`memory MiB: ${JSON.stringify(server.memory())}\n`)
  await bare.stop()
} finally {
  await server.stop()
  rmSync(data, { recursive: true, force: true })
}

function print(rows: readonly Measured[], bareCpu: number): void {
  process.stdout.write(
    `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}, ${objects} objects, ${seconds} s each\n`,
  )
  const table = rows.map(({ name, requestsPerSecond, cpuMicrosecondsPerRequest, p50Ms, p99Ms, refused }) => ({
    scenario: name,
    'requests/s': requestsPerSecond,
    'CPU µs/request': cpuMicrosecondsPerRequest,
    'CPU ÷ bare': Number((cpuMicrosecondsPerRequest / bareCpu).toFixed(2)),
    'p50 ms': p50Ms,
    'p99 ms': p99Ms,
    refused,
  }))
  console.table(table)
}
