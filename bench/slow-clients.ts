/**
 * Slow and idle clients beside others: `node --import tsx bench/slow-clients.ts [--of <other checkout>] [seconds] [-- server words …]`. 200 slow senders, 200 idle
 * connections and 50 readers that never read, for two minutes, while others read, look up and write. Linux; loopback only.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { AshlarClient } from '@ashlar/client'
import { FederatedDatabase, openStore } from '@ashlar/engine'
import { type ChildServer, startChild } from './child-server.ts'
import type { Answer, Probed, Probes } from './overload/probe.ts'
import { programOf } from './program.ts'
import type { Fates, Hostile } from './slow-clients/hostile.ts'

const { values: options, positionals } = parseArgs({
  options: { of: { type: 'string', default: '.' } },
  allowPositionals: true,
})
const [seconds = '120', ...words] = positionals
const crowd = { senders: 200, idle: 200, readers: 50 }
const objects = 50_000
const batch = 5_000
/** More than kernels keep for a reader. */
const largeCharacters = 8 * 2 ** 20
const quietMs = 30_000
const afterMs = 45_000
const sampleMs = 20_000
const writeEveryMs = 20

const data = mkdtempSync(join(tmpdir(), 'ashlar-slow-'))
const agent = new Agent({ keepAlive: true, maxSockets: 8 })
try {
  const filled = await fill(`lmdb:${join(data, 'default')}`)
  const program = programOf(options.of)
  const server = await startChild([program, 'serve', '--port', '0', '--data', data, '--log-level', 'warn', ...words])
  try {
    await measureAll(server, filled)
  } finally {
    await server.stop()
  }
} finally {
  agent.destroy()
  rmSync(data, { recursive: true, force: true })
}

interface Filled {
  readonly oids: readonly string[]
  readonly largeOid: string
}

async function fill(store: string): Promise<Filled> {
  const fd = await FederatedDatabase.open({ alias: 'default', store: await openStore(store) })
  const attributes = [
    { attributeName: 'name', logicalType: 'string' },
    { attributeName: 'size', logicalType: 'integer' },
  ]
  const text = [{ attributeName: 'text', logicalType: 'string' }]
  const classes = [
    { className: 'Part', isReferenceable: true, attributes },
    { className: 'Large', isReferenceable: true, attributes: text },
  ]
  await fd.defineClasses(classes, 'create')
  const keyAttributes = [{ attributeName: 'size' }]
  await fd.createIndex({ name: 'bySize', indexedClass: 'Part', isUnique: true, keyAttributes })
  const oids: string[] = []
  for (let from = 0; from < objects; from += batch) {
    const parts = Array.from({ length: batch }, (_, i) => {
      return { class: 'Part', attributes: { name: `part ${from + i} ${'x'.repeat(200)}`, size: from + i } }
    })
    oids.push(...(await fd.createObjects(parts)).map(String))
  }
  const large = { class: 'Large', attributes: { text: 'z'.repeat(largeCharacters) } }
  const [largeOid] = (await fd.createObjects([large])).map(String)
  await fd.close()
  return { oids, largeOid: largeOid as string }
}

async function measureAll(server: ChildServer, { oids, largeOid }: Filled): Promise<void> {
  const client = new AshlarClient({ baseUrl: server.url })
  const sample = async (when: string): Promise<void> => {
    const { oldestSnapshotMs, repliesBrokenOff } = (await client.getFederatedDatabase()).readers
    const file = Math.round(statSync(join(data, 'default', 'data.mdb')).size / 2 ** 20)
    const { own, resident } = server.memory()
    console.log(
      `${when}: ${Math.round(own)} MiB own memory (${Math.round(resident)} resident), file ${file} MiB, oldest snapshot ${oldestSnapshotMs} ms, ${repliesBrokenOff} replies broken off`,
    )
  }
  const writer = startWriter(server.url, oids)
  await during({ url: server.url, oid: oids[0] as string }, 3_000)
  await sample('at the start')
  const quiet = await during({ url: server.url, oid: oids[1] as string }, quietMs)
  await sample('after the quiet time')
  const hostile = await startHostile({ url: server.url, ...crowd, largeOid })
  const besides: Promise<void>[] = []
  const sampler = setInterval(() => besides.push(sample('beside them')), sampleMs)
  const beside = await during({ url: server.url, oid: oids[2] as string }, Number(seconds) * 1_000)
  clearInterval(sampler)
  await Promise.all(besides)
  const fates = await endHostile(hostile)
  await delay(afterMs)
  await sample(`${afterMs / 1_000} s after them`)
  tell(quiet, beside)
  console.log(
    `of slow and idle clients: ${JSON.stringify(fates.refused)}; of readers: ${JSON.stringify(fates.replies)}`,
  )
  console.log(`${fates.ended} of their connections ended; ${await writer()} writes meanwhile`)
}

function tell(quiet: Probes, beside: Probes): void {
  const kinds = { reads: 'reads, new connections', keptReads: 'reads, kept connections', lookups: 'lookups by key' }
  for (const [kind, name] of Object.entries(kinds) as ['reads' | 'keptReads' | 'lookups', string][]) {
    const [before, during] = [spread(quiet[kind]), spread(beside[kind])]
    const ratio = (during.p99 / before.p99).toFixed(2)
    console.log(`${name}: p50 ${before.p50} → ${during.p50} ms, p99 ${before.p99} → ${during.p99} ms (${ratio} ×)`)
    console.log(
      `  longest ${before.max} → ${during.max} ms, not 200: ${before.failed} → ${during.failed} of ${during.all}`,
    )
  }
  console.log(`the probe itself was held for ${Math.round(quiet.heldMs)} → ${Math.round(beside.heldMs)} ms at most`)
}

function spread(answers: readonly Answer[]) {
  const sorted = answers.map(({ ms }) => ms).sort((a, b) => a - b)
  const at = (share: number): number => Number((sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1))
  const failed = answers.filter(({ status }) => status !== 200).length
  return { p50: at(0.5), p99: at(0.99), max: at(1), failed, all: answers.length }
}

function programAt(name: string): ChildProcess {
  return fork(fileURLToPath(new URL(name, import.meta.url)), { execArgv: ['--import', 'tsx'] })
}

async function during(probed: Probed, ms: number): Promise<Probes> {
  const probe = programAt('overload/probe.ts')
  await once(probe, 'message')
  probe.send(probed)
  await once(probe, 'message')
  await delay(ms)
  probe.send('end')
  const [probes] = (await once(probe, 'message')) as [Probes]
  return probes
}

async function startHostile(hostile: Hostile): Promise<ChildProcess> {
  const child = programAt('slow-clients/hostile.ts')
  await once(child, 'message')
  child.send(hostile)
  return child
}

async function endHostile(child: ChildProcess): Promise<Fates> {
  child.send('end')
  const [fates] = (await once(child, 'message')) as [Fates]
  return fates
}

/** Somebody has to change objects, or no file could grow. What is returned ends it, and tells how many were changed. */
function startWriter(url: string, oids: readonly string[]): () => Promise<number> {
  let written = 0
  let sent = 0
  const timer = setInterval(() => {
    const oid = oids[(sent++ * 7_919) % oids.length] as string
    const headers = { 'content-type': 'application/json' }
    const asked = request(`${url}/v1/object/${oid}`, { method: 'PUT', agent, headers }, (response) => {
      if ((response.statusCode ?? 500) < 300) written++
      response.resume()
    })
    asked.on('error', () => undefined)
    asked.end(JSON.stringify({ attributes: { name: `written ${sent} ${'y'.repeat(200)}` } }))
  }, writeEveryMs)
  return async () => {
    clearInterval(timer)
    await delay(1_000)
    return written
  }
}
