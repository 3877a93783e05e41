/**
 * Measures changes of a schema over HTTP on the built server, with few and with many objects: each change, first reads
 * after it, and reads by OID while an index is built.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ChildServer, startChild } from './child-server.ts'
import { fillItems } from './items.ts'
import { openSocketGenerator } from './load/generators.ts'
import { programOf } from './program.ts'
import type { Figures } from './rows/figures.ts'
import { measure } from './rows/measure.ts'

const many = Number(process.env.BENCH_OBJECTS ?? 1_000_000)
const few = 1_000

interface Change {
  readonly name: string
  readonly body: object
  readonly parameters?: string
}

const changes: readonly Change[] = [
  { name: 'add', body: { attributesToAdd: [{ attributeName: 'more', logicalType: 'string' }] } },
  { name: 'rename', body: { attributesToRename: [{ originalName: 'more', newName: 'note' }] } },
  { name: 'delete', body: { attributesToDelete: ['note'] } },
  { name: 'widen', body: { attributesToChange: [{ attributeName: 'day', logicalType: 'datetime' }] } },
  { name: 'rename class', body: { classRename: 'Thing' } },
  { name: 'rename class back', body: { classRename: 'Item' } },
  { name: 'to text', body: { attributesToChange: [{ attributeName: 'size', logicalType: 'string' }] } },
  { name: 'back, checked', body: { attributesToChange: [{ attributeName: 'size', logicalType: 'real' }] } },
  {
    name: 'dry run, checked',
    body: { attributesToChange: [{ attributeName: 'name', logicalType: 'integer' }] },
    // The names are no numbers: it tells how many values would be lost.
    parameters: '?dryRun=true&allowLoss=true',
  },
]

/** Reads by OID of objects that are there, as the first page of the first container has them. */
const readOne = () => ({ method: 'GET' as const, path: `/v1/object/3-3-1-${1 + Math.floor(Math.random() * 900)}` })

for (const objects of [few, many]) await measureChanges(objects)

async function measureChanges(objects: number): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'ashlar-bench-'))
  try {
    await fillItems(join(data, 'default'), objects)
    const server = await startChild([programOf(), 'serve', '--port', '0', '--data', data, '--log-level', 'warn'])
    try {
      const times: Record<string, string> = {}
      let className = 'Item'
      for (const { name, body, parameters = '' } of changes) {
        const ms = await timed(() => send(server, 'PUT', `/v1/schema/${className}${parameters}`, body))
        if ('classRename' in body) className = body.classRename as string
        times[name] = `${ms.toFixed(1)} ms`
      }
      process.stdout.write(`${objects} objects: ${JSON.stringify(times)}\n`)
      await measureReadsWhileBuilding(server, objects)
      await measureUpgrade(server, objects)
    } finally {
      await server.stop()
    }
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

async function measureReadsWhileBuilding(server: ChildServer, objects: number): Promise<void> {
  const bench = { generator: openSocketGenerator(), cores: undefined }
  const load = { connections: 16, requests: Array.from({ length: 20_000 }, readOne), isOnce: false, seconds: 3 }
  const quiet = await measure(bench, server, load)
  const keyAttributes = [{ attributeName: 'name' }, { attributeName: 'number' }]
  const index = { name: 'byName', indexedClass: 'Item', isUnique: true, keyAttributes }
  const building = timed(() => send(server, 'POST', '/v1/index', index))
  const busy = await measure(bench, server, load)
  const ms = await building
  await bench.generator.close()
  process.stdout.write(
    `${objects} objects: index built in ${Math.round(ms)} ms under 16 readers; reads ${shown(quiet)} before, ${shown(busy)} meanwhile\n`,
  )
}

function shown({ p50Ms, p99Ms }: Figures): string {
  return `p50 ${p50Ms.toFixed(1)} and p99 ${p99Ms.toFixed(1)} ms`
}

async function measureUpgrade(server: ChildServer, objects: number): Promise<void> {
  const ms = await timed(() => send(server, 'POST', '/v1/tool', { tool: 'UpgradeObjects' }))
  const again = await timed(() =>
    send(server, 'POST', '/v1/tool', { tool: 'UpgradeObjects', flags: { objectsPerSecond: 1e9 } }),
  )
  process.stdout.write(
    `${objects} objects upgraded in ${Math.round(ms)} ms; nothing left to do: ${Math.round(again)} ms\n`,
  )
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await act()
  return performance.now() - started
}

async function send(server: ChildServer, method: string, path: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(`${server.url}${path}`, { method, headers, body: JSON.stringify(body) })
  const text = await reply.text()
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text.slice(0, 300)}`)
  return text
}
