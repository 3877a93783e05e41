/** Measures the built server and a bare Fastify reply in one run: requests/s, CPU µs a request, ratio. */
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { AshlarClient } from '@ashlar/client'
import { type ChildServer, startChild } from './child-server.ts'
import { type Measured, measure } from './load.ts'
import { fillFleet, readScenario, writeScenarios } from './scenarios.ts'

const seconds = Number(process.env.BENCH_SECONDS ?? 5)
const objects = Number(process.env.BENCH_OBJECTS ?? 20_000)
const serverWords = process.argv.slice(2)

const data = mkdtempSync(join(tmpdir(), 'ashlar-bench-'))
const server = await startChild([
  'packages/server/dist/cli/main.js',
  ...['serve', '--port', '0', '--data', data, ...serverWords],
])
try {
  await run(server)
} finally {
  await server.stop()
  rmSync(data, { recursive: true, force: true })
}

async function run(server: ChildServer): Promise<void> {
  const client = new AshlarClient({ baseUrl: server.url })
  const idle = server.memory().resident
  const fleet = await fillFleet(client, objects)
  const sample = JSON.stringify(await client.readObject(fleet.oids[0] as string))
  const bare = await startChild(['--import', 'tsx', 'bench/bare-reply.ts', sample])
  const read = readScenario(fleet)
  await measure(server, read, 1)
  const before = await measure(bare, { ...read, name: 'bare Fastify reply' }, seconds)
  const rows = [before]
  for (const scenario of [read, ...writeScenarios(fleet, [...fleet.oids])])
    rows.push(await measure(server, scenario, seconds))
  const after = await measure(bare, { ...read, name: 'bare, once more' }, seconds)
  await bare.stop()
  print([...rows, after], (before.cpuMicrosecondsPerRequest + after.cpuMicrosecondsPerRequest) / 2)
  const { peak } = server.memory()
  process.stdout.write(`memory: ${idle} MiB idle, ${peak} MiB at the peak\n`)
}

function print(rows: readonly Measured[], bareCpu: number): void {
  const machine = `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}`
  process.stdout.write(`${machine}, ${objects} objects, ${seconds} s each; serve ${serverWords.join(' ')}\n`)
  console.table(
    rows.map(({ name, requestsPerSecond, cpuMicrosecondsPerRequest, p50Ms, p99Ms, refused }) => ({
      scenario: name,
      'requests/s': requestsPerSecond,
      'CPU µs/request': cpuMicrosecondsPerRequest,
      'CPU ÷ bare': Number((cpuMicrosecondsPerRequest / bareCpu).toFixed(2)),
      'p50 ms': p50Ms,
      'p99 ms': p99Ms,
      refused,
    })),
  )
}
