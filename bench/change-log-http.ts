/**
 * What the change log costs a server while nobody listens: the same writes over HTTP to two federated databases of one server, one with the log and one without,
 * by turns, as CPU of the server: `node --import tsx bench/change-log-http.ts [connections] [rounds]`. What counts is the median of the rounds' ratios.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ChildServer, startChild } from './child-server.ts'
import { openSocketGenerator } from './load/generators.ts'
import type { BenchRequest } from './load/load.ts'
import { takeCores } from './machine.ts'
import { programOf } from './program.ts'
import { median } from './rows/figures.ts'

const connections = Number(process.argv[2] ?? 1)
const rounds = Number(process.argv[3] ?? 12)
const writes = connections > 1 ? 3_000 : 300
const bulkObjects = 5_000
const secondsMax = 120
/** Of its first rounds functions are compiled. */
const warmRounds = 2

const settings = ['off', 'on'] as const
type Setting = (typeof settings)[number]
const works = ['create', 'update', 'delete', 'bulk'] as const
type Work = (typeof works)[number]

/** Cars so far. */
let made = 0

const directory = mkdtempSync(join(tmpdir(), 'ashlar-change-log-'))
const program = programOf()
const cores = takeCores()
const generator = openSocketGenerator()
let server: ChildServer | undefined
try {
  const fds = settings.flatMap((name) => ['--fd', `${name}=lmdb:${join(directory, name)}`])
  const logs = settings.flatMap((name) => ['--change-log', `${name}=${name}`])
  const words = ['serve', '--port', '0', '--log-level', 'warn', '--data', directory, ...fds, ...logs]
  server = await startChild([program, ...words], { core: cores?.server })
  for (const name of settings) await prepare(server.url, name)
  const ratios: Record<Work, number[]> = { create: [], update: [], delete: [], bulk: [] }
  const sums: Record<Setting, Record<Work, number>> = { off: newSums(), on: newSums() }
  for (let nth = 0; nth < rounds + warmRounds; nth++) {
    const order: readonly Setting[] = nth % 2 === 0 ? ['off', 'on'] : ['on', 'off']
    const taken: Partial<Record<Setting, Record<Work, number>>> = {}
    for (const name of order) taken[name] = await round(server, name)
    if (nth < warmRounds) continue
    for (const work of works) {
      const [off, on] = settings.map((name) => taken[name]?.[work] ?? Number.NaN) as [number, number]
      ratios[work].push(on / off)
      sums.off[work] += off
      sums.on[work] += on
    }
  }
  for (const work of works) {
    const count = rounds * (work === 'bulk' ? bulkObjects : writes)
    const [off, on] = settings.map((name) => ((sums[name][work] / count) * 1e6).toFixed(1))
    const all = ratios[work].toSorted((one, other) => one - other)
    const spread = `${all[0]?.toFixed(3)} to ${all.at(-1)?.toFixed(3)}`
    process.stdout.write(
      `${work.padEnd(8)} off ${off} us, on ${on} us, ratio: median ${median(all).toFixed(3)}, ${spread}\n`,
    )
  }
} finally {
  await server?.stop()
  await generator.close()
  rmSync(directory, { recursive: true })
}

function newSums(): Record<Work, number> {
  return { create: 0, update: 0, delete: 0, bulk: 0 }
}

async function ask(url: string, path: string, body: unknown): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!reply.ok) throw new Error(`${path}: ${await reply.text()}`)
  return reply.json()
}

async function prepare(url: string, name: Setting): Promise<void> {
  const attributes = ['license', 'owner'].map((attributeName) => ({ attributeName, logicalType: 'string' }))
  const year = { attributeName: 'year', logicalType: 'integer' }
  const cls = { className: 'Car', isReferenceable: true, attributes: [...attributes, year] }
  await ask(url, `/v1/schema?fdAlias=${name}`, [cls])
  for (const [index, attributeName] of Object.entries({ byLicense: 'license', byYear: 'year' })) {
    const isUnique = index === 'byLicense'
    const body = { name: index, indexedClass: 'Car', isUnique, keyAttributes: [{ attributeName }] }
    await ask(url, `/v1/index?fdAlias=${name}`, body)
  }
}

function car(): { readonly class: string; readonly attributes: object } {
  return { class: 'Car', attributes: { license: `AB ${++made}`, owner: 'Somebody or other', year: made % 100 } }
}

async function round({ url, cpuSeconds }: ChildServer, name: Setting): Promise<Record<Work, number>> {
  const taken = newSums()
  const send = async (work: Work, requests: readonly BenchRequest[], at = connections): Promise<void> => {
    const before = cpuSeconds()
    const load = { url, connections: at, requests, isOnce: true, seconds: secondsMax }
    const { answered } = await generator.run(load)
    taken[work] = cpuSeconds() - before
    if (answered !== requests.length) throw new Error(`${work}: ${answered} of ${requests.length} were answered`)
  }
  const first = made + 1
  const creations = Array.from({ length: writes }, (): BenchRequest => {
    return { method: 'POST', path: `/v1/object?fdAlias=${name}`, body: JSON.stringify(car()) }
  })
  await send('create', creations)
  const query = `FROM Car WHERE license IN LIST{${creations.map((_, i) => `'AB ${first + i}'`).join()}} RETURN $$ID AS oid`
  const rows = (await ask(url, `/v1/query?fdAlias=${name}`, { query })) as readonly { readonly oid: string }[]
  const pathOf = (oid: string): string => `/v1/object/${oid}?fdAlias=${name}`
  await send(
    'update',
    rows.map(({ oid }) => ({
      method: 'PUT',
      path: pathOf(oid),
      body: JSON.stringify({ attributes: { year: ++made % 100 } }),
    })),
  )
  await send(
    'delete',
    rows.map(({ oid }) => ({ method: 'DELETE', path: pathOf(oid) })),
  )
  const cars = Array.from({ length: bulkObjects }, car)
  await send('bulk', [{ method: 'POST', path: `/v1/object?fdAlias=${name}`, body: JSON.stringify(cars) }], 1)
  return taken
}
