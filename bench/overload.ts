/**
 * Many heavy statements at once, and others meanwhile: `node --import tsx bench/overload.ts [statements] [addresses] [server words …]`.
 * The statements sort and group 200,000 objects (`OVERLOAD_OBJECTS`); they come from so many addresses of this machine (Linux). Beside
 * them somebody reads an object every 5 ms, and another looks one up by its key with a statement every 20 ms.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { FederatedDatabase, openStore } from '@ashlar/engine'
import { type ChildServer, startChild } from './child-server.ts'

const objects = Number(process.env.OVERLOAD_OBJECTS ?? 200_000)
const batch = 5_000
const heavy = [
  'FROM Part ORDER BY name, size RETURN name, size',
  'FROM Part GROUP BY name RETURN name, COUNT(), SUM(size)',
]

interface Answer {
  readonly status: number
  readonly ms: number
}

if (process.send === undefined) await main()
else await probe(process.argv.slice(2) as [string, string])

async function main(): Promise<void> {
  const [statements = '1000', addresses = '1', ...words] = process.argv.slice(2)
  const data = mkdtempSync(join(tmpdir(), 'ashlar-overload-'))
  try {
    const oid = await fill(`lmdb:${join(data, 'default')}`)
    const program = 'packages/server/dist/cli/main.js'
    const server = await startChild([program, 'serve', '--port', '0', '--data', data, '--log-level', 'warn', ...words])
    try {
      await measureAll(server, oid, Number(statements), Number(addresses))
    } finally {
      await server.stop()
    }
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
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

async function measureAll(server: ChildServer, oid: string, statements: number, addresses: number): Promise<void> {
  const { url } = server
  const own = ask(url, 'POST', '/v1/query', { query: heavy[0] })
  console.log(`one statement alone: ${describe([await own])}`)
  const alone = await probing(url, oid, () => delay(3_000))
  let peak = 0
  const watch = setInterval(() => {
    peak = Math.max(peak, server.memory().own)
  }, 100)
  const answers: Answer[] = []
  const beside = await probing(url, oid, async () => {
    const asked = Array.from({ length: statements }, async (_, i) => {
      const from = addresses === 1 ? undefined : `127.0.0.${2 + (i % addresses)}`
      answers.push(await ask(url, 'POST', '/v1/query', { query: heavy[i % heavy.length] }, from))
    })
    await Promise.all(asked)
  })
  clearInterval(watch)
  for (const status of [...new Set(answers.map((one) => one.status))].sort()) {
    console.log(`${status}: ${describe(answers.filter((one) => one.status === status))}`)
  }
  for (const [what, { reads, lookups }] of Object.entries({ alone, beside })) {
    console.log(`${what}: reads ${describe(reads)}; lookups ${describe(lookups)}`)
  }
  console.log(`anonymous memory at its peak: ${peak} MiB`)
}

/** Milliseconds, with the share that was not answered by 200. */
function describe(answers: readonly Answer[]): string {
  const ms = answers.map((one) => one.ms).sort((one, other) => one - other)
  const at = (share: number): string => (ms[Math.min(ms.length - 1, Math.floor(ms.length * share))] ?? 0).toFixed(1)
  const refused = answers.filter(({ status }) => status !== 200).length
  return `${ms.length} answers (${refused} not 200), ms p50 ${at(0.5)} p99 ${at(0.99)} max ${at(1)}`
}

interface Probes {
  readonly reads: Answer[]
  readonly lookups: Answer[]
}

/** By a process of its own, lest the load of this one counts. */
async function probing(url: string, oid: string, during: () => Promise<unknown>): Promise<Probes> {
  const child = fork(fileURLToPath(import.meta.url), [url, oid], { execArgv: ['--import', 'tsx'] })
  await once(child, 'message')
  await during()
  const ended = once(child, 'message') as Promise<[Probes]>
  child.send('end')
  const [probes] = await ended
  return probes
}

async function probe([url, oid]: [string, string]): Promise<void> {
  const probes: Probes = { reads: [], lookups: [] }
  let isOver = false
  process.once('message', () => {
    isOver = true
  })
  const repeat = async (ms: number, into: Answer[], one: () => Promise<Answer>): Promise<void> => {
    while (!isOver) {
      into.push(await one())
      await delay(ms)
    }
  }
  const text = 'FROM Part WHERE size = $size RETURN name'
  process.send?.('begun')
  await Promise.all([
    repeat(5, probes.reads, () => ask(url, 'GET', `/v1/object/${oid}`)),
    repeat(20, probes.lookups, () => ask(url, 'POST', '/v1/query', { query: text, parameters: { size: 4711 } })),
  ])
  process.send?.(probes, () => process.disconnect())
}

function ask(url: string, method: string, path: string, body?: unknown, localAddress?: string): Promise<Answer> {
  const beganAt = performance.now()
  return new Promise((resolve) => {
    const end = (status: number): void => resolve({ status, ms: performance.now() - beganAt })
    const headers = body === undefined ? {} : { 'content-type': 'application/json' }
    const from = localAddress === undefined ? {} : { localAddress }
    const sent = request(`${url}${path}`, { method, headers, agent: false, ...from }, (response) => {
      response.resume()
      response.once('end', () => end(response.statusCode ?? 0))
      response.once('error', () => end(0))
    })
    sent.once('error', () => end(0))
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
