/**
 * Many heavy statements at once, and others meanwhile: `node --import tsx bench/overload.ts [--of <other checkout>]
 * [statements] [addresses] [-- server words …]`. The statements sort and group 200,000 objects (`OVERLOAD_OBJECTS`); they come from so many
 * addresses of this machine (Linux). What is told of the server's own time is what its processes needed of the CPU.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { FederatedDatabase, openStore } from '@ashlar/engine'
import { type ChildServer, startChild } from './child-server.ts'
import type { Flood, Flooded } from './overload/flood.ts'
import type { Answer, Probed, Probes } from './overload/probe.ts'
import { programOf } from './program.ts'

const { values: options, positionals } = parseArgs({
  options: { of: { type: 'string', default: '.' } },
  allowPositionals: true,
})
const [statements = '1000', addresses = '1', ...words] = positionals
const objects = Number(process.env.OVERLOAD_OBJECTS ?? 200_000)
const batch = 5_000
const heavy = [
  'FROM Part ORDER BY name, size RETURN name, size',
  'FROM Part GROUP BY name RETURN name, COUNT(), SUM(size)',
]
const aloneMs = 3_000

const data = mkdtempSync(join(tmpdir(), 'ashlar-overload-'))
try {
  const oid = await fill(`lmdb:${join(data, 'default')}`)
  const program = programOf(options.of)
  const server = await startChild([program, 'serve', '--port', '0', '--data', data, '--log-level', 'warn', ...words])
  try {
    await measureAll(server, oid)
  } finally {
    await server.stop()
  }
} finally {
  rmSync(data, { recursive: true, force: true })
}

async function fill(store: string): Promise<string> {
  const fd = await FederatedDatabase.open({ alias: 'default', store: await openStore(store) })
  const attributes = [
    { attributeName: 'name', logicalType: 'string' },
    { attributeName: 'size', logicalType: 'integer' },
  ]
  await fd.defineClasses([{ className: 'Part', isReferenceable: true, attributes }], 'create')
  const keyAttributes = [{ attributeName: 'size' }]
  await fd.createIndex({ name: 'bySize', indexedClass: 'Part', isUnique: true, keyAttributes })
  let oid = ''
  for (let from = 0; from < objects; from += batch) {
    const requests = Array.from({ length: batch }, (_, i) => {
      const size = from + i
      return { class: 'Part', attributes: { name: `part ${(size * 7_919) % objects}`, size } }
    })
    oid = String((await fd.createObjects(requests))[0])
  }
  await fd.close()
  return oid
}

async function measureAll(server: ChildServer, oid: string): Promise<void> {
  const { url } = server
  const one = await flooded({ url, statements: heavy, amount: 1, addresses: 1 })
  console.log(`one statement alone: ${describe(one.answers)}`)
  tell('alone', await probing({ url, oid }, () => delay(aloneMs)))
  let peak = 0
  const watch = setInterval(() => {
    peak = Math.max(peak, server.memory().own)
  }, 100)
  let flood: Flooded = { answers: [], sendingMs: 0, heldMs: 0 }
  const beside = await probing({ url, oid }, async () => {
    flood = await flooded({ url, statements: heavy, amount: Number(statements), addresses: Number(addresses) })
  })
  clearInterval(watch)
  const { answers, sendingMs, heldMs } = flood
  for (const status of [...new Set(answers.map((one) => one.status))].sort()) {
    const ofStatus = answers.filter((one) => one.status === status)
    console.log(
      `${status}: ${describe(ofStatus)}; connected ${percentiles(ofStatus.map(({ connectedMs }) => connectedMs))}`,
    )
  }
  console.log(
    `sent within ${sendingMs.toFixed(0)} ms, by a process that was itself busy for ${heldMs.toFixed(0)} ms at most`,
  )
  tell('beside', beside)
  console.log(`anonymous memory at its peak: ${peak} MiB`)
}

function tell(when: string, { reads, keptReads, lookups, heldMs }: Probes): void {
  console.log(`${when}: reads ${describe(reads)}`)
  console.log(`${when}: reads on a kept connection ${describe(keptReads)}`)
  console.log(`${when}: lookups ${describe(lookups)}; the probe itself was held for ${heldMs.toFixed(0)} ms at most`)
}

/** With the share that was not answered by 200. */
function describe(answers: readonly Answer[]): string {
  const refused = answers.filter(({ status }) => status !== 200).length
  return `${answers.length} answers (${refused} not 200), ${percentiles(answers.map(({ ms }) => ms))}`
}

function percentiles(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share: number): string => {
    return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1)
  }
  return `ms p50 ${at(0.5)} p99 ${at(0.99)} max ${at(1)}`
}

async function flooded(flood: Flood): Promise<Flooded> {
  const child = forkOwn('flood.ts')
  await once(child, 'message')
  const ended = once(child, 'message') as Promise<[Flooded]>
  child.send(flood)
  return (await ended)[0]
}

async function probing(probed: Probed, during: () => Promise<unknown>): Promise<Probes> {
  const child = forkOwn('probe.ts')
  await once(child, 'message')
  const begun = once(child, 'message')
  child.send(probed)
  await begun
  await during()
  const ended = once(child, 'message') as Promise<[Probes]>
  child.send('end')
  return (await ended)[0]
}

/** A process of its own, lest the load of this one counts. */
function forkOwn(file: string): ReturnType<typeof fork> {
  return fork(fileURLToPath(new URL(`overload/${file}`, import.meta.url)), { execArgv: ['--import', 'tsx'] })
}
