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
const rounds = Number(process.argv[3] ?? 200)
const writes = connections > 1 ? 480 : 40
const bulkObjects = 2_000
const secondsMax = 120
/** Those in which functions are compiled, and the trees grow to three levels. */
const warmRounds = 6

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
  const taken: Record<Work, Record<Setting, Taken[]>> = { create: none(), update: none(), delete: none(), bulk: none() }
  const sides: Record<Setting, Side> = { off: { name: 'off', paths: [] }, on: { name: 'on', paths: [] } }
  for (let nth = 0; nth < rounds + warmRounds; nth++) {
    const order: readonly Setting[] = nth % 2 === 0 ? ['off', 'on'] : ['on', 'off']
    // Close to each other, since what else the machine does comes and goes.
    for (const work of works) {
      for (const name of order) {
        const one = await measured(server, sides[name], work)
        if (nth >= warmRounds) taken[work][name].push(one)
      }
    }
  }
  for (const work of works) print(work, taken[work])
} finally {
  await server?.stop()
  await generator.close()
  rmSync(directory, { recursive: true })
}

interface Taken {
  readonly cpu: number
  readonly seconds: number
}

interface Side {
  readonly name: Setting
  /** Of what was created last. */
  paths: readonly string[]
}

function none(): Record<Setting, Taken[]> {
  return { off: [], on: [] }
}

function print(work: Work, { off, on }: Record<Setting, readonly Taken[]>): void {
  const count = rounds * (work === 'bulk' ? bulkObjects : writes)
  const sum = (all: readonly Taken[], of: keyof Taken): number => all.reduce((total, one) => total + one[of], 0)
  const micros = (all: readonly Taken[]): string => ((sum(all, 'cpu') / count) * 1e6).toFixed(1)
  const rate = (all: readonly Taken[]): string => (count / sum(all, 'seconds')).toFixed(0)
  const ratios = on.map(({ cpu }, nth) => cpu / (off[nth]?.cpu ?? Number.NaN)).toSorted((one, other) => one - other)
  const quartile = (nth: number): string => (ratios[Math.floor((nth * ratios.length) / 4)] ?? Number.NaN).toFixed(3)
  process.stdout.write(
    `${work.padEnd(8)} off ${micros(off)} us, on ${micros(on)} us, ratio: median ${median(ratios).toFixed(3)}, half of them ` +
      `${quartile(1)} to ${quartile(3)}; ${rate(off)} a second, ${rate(on)}\n`,
  )
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

async function measured(server: ChildServer, side: Side, work: Work): Promise<Taken> {
  const requests = requestsOf(side, work)
  const first = made - writes + 1
  const [cpu, start] = [server.cpuSeconds(), performance.now()]
  const at = work === 'bulk' ? 1 : connections
  const { answered } = await generator.run({
    url: server.url,
    connections: at,
    requests,
    isOnce: true,
    seconds: secondsMax,
  })
  const taken = { cpu: server.cpuSeconds() - cpu, seconds: (performance.now() - start) / 1_000 }
  if (answered !== requests.length) throw new Error(`${work}: ${answered} of ${requests.length} were answered`)
  if (work === 'create') side.paths = await pathsFrom(server, side.name, first)
  return taken
}

function requestsOf({ name, paths }: Side, work: Work): readonly BenchRequest[] {
  const path = `/v1/object?fdAlias=${name}`
  if (work === 'bulk') return [{ method: 'POST', path, body: JSON.stringify(Array.from({ length: bulkObjects }, car)) }]
  if (work === 'create')
    return Array.from({ length: writes }, () => ({ method: 'POST', path, body: JSON.stringify(car()) }))
  if (work === 'delete') return paths.map((one) => ({ method: 'DELETE', path: one }))
  return paths.map((one) => {
    return { method: 'PUT', path: one, body: JSON.stringify({ attributes: { year: ++made % 100 } }) }
  })
}

/** Of the cars that were made from that one on. */
async function pathsFrom({ url }: ChildServer, name: Setting, first: number): Promise<readonly string[]> {
  const licenses = Array.from({ length: writes }, (_, nth) => `'AB ${first + nth}'`)
  const query = `FROM Car WHERE license IN LIST{${licenses.join()}} RETURN $$ID AS oid`
  const rows = (await ask(url, `/v1/query?fdAlias=${name}`, { query })) as readonly { readonly oid: string }[]
  if (rows.length !== writes) throw new Error(`${rows.length} of ${writes} cars are found`)
  return rows.map(({ oid }) => `/v1/object/${oid}?fdAlias=${name}`)
}
