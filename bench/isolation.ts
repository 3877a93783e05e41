/**
 * What serializable transactions cost beside snapshot isolation: the same requests to one server by turns, with one level and the other, as CPU of the server (and of
 * PostgreSQL) and time: `node --import tsx bench/isolation.ts [rounds] [row,…] [--postgres]`. What counts is the median of the rounds' ratios. It also prints how many commits were
 * attempted again.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../tools/temporary-postgres.ts'
import { type ChildServer, startChild } from './child-server.ts'
import { openSocketGenerator } from './load/generators.ts'
import type { BenchRequest } from './load/load.ts'
import { takeCores } from './machine.ts'
import { programOf } from './program.ts'
import { median } from './rows/figures.ts'

const { values: flags, positionals } = parseArgs({
  options: { postgres: { type: 'boolean' } },
  allowPositionals: true,
})
const [rounds = '20', only] = positionals
const secondsMax = 120
const warmRounds = 4

const levels = ['snapshot', 'serializable'] as const
type Level = (typeof levels)[number]

interface Row {
  readonly connections: number
  readonly requests: number
  request(level: Level, nth: number): BenchRequest
}

/** Objects of class Item, 20 for each value of `g`. */
const items = 20_000
const perGroup = 20
const groups = items / perGroup
const read = 100

let slots = 0
let oids: readonly string[] = []

const update = (nth: number): string => `UPDATE Item WHERE g = ${(nth * 7) % groups} SET n TO n + 1 RETURN COUNT()`
const book = (): string => {
  const g = slots++
  return `IF (FROM Slot WHERE g = ${g} RETURN COUNT()) = 0 THEN (CREATE Slot {g: ${g}}); SHOW 1`
}
const textOf = (level: Level, query: string): BenchRequest => ({
  method: 'POST',
  path: '/v1/query',
  body: JSON.stringify({ query, isolation: level }),
})

const rows: Readonly<Record<string, Row>> = {
  'update-by-index': { connections: 1, requests: 200, request: (level, nth) => textOf(level, update(nth)) },
  'update-by-index-32': { connections: 32, requests: 600, request: (level, nth) => textOf(level, update(nth)) },
  'lookup-and-update': {
    connections: 1,
    requests: 300,
    request: (level, nth) =>
      textOf(level, `LET i = LOOKUP Item WHERE k = ${(nth * 11) % items}; UPDATE $i SET n TO 1; SHOW 1`),
  },
  'read-100-write-1': {
    connections: 1,
    requests: 100,
    request: (level, nth) => {
      const at = (nth * 131) % (items - read)
      const reads = oids.slice(at, at + read).map((oid) => ({ method: 'GET', uri: `/v1/object/${oid}` }))
      const write = { method: 'PUT', uri: `/v1/object/${oids[at]}`, body: { attributes: { n: nth } } }
      return {
        method: 'POST',
        path: `/v1/transaction?isolation=${level}`,
        body: JSON.stringify([...reads, write]),
      }
    },
  },
  'book-1': { connections: 1, requests: 300, request: (level) => textOf(level, book()) },
  'book-32': { connections: 32, requests: 1_600, request: (level) => textOf(level, book()) },
  'scan-and-write': {
    connections: 1,
    requests: 4,
    request: (level) => textOf(level, 'LET c = FROM Item RETURN COUNT(n); UPDATE Item WHERE k = 1 SET n TO 1; SHOW $c'),
  },
}

const generator = openSocketGenerator()
const directory = mkdtempSync(join(tmpdir(), 'ashlar-isolation-'))
try {
  if (flags.postgres === true) await measureOnPostgres()
  else await measureOn(`lmdb:${join(directory, 'store')}`, [])
} finally {
  await generator.close()
  rmSync(directory, { recursive: true })
}

async function measureOnPostgres(): Promise<void> {
  const database = await startPostgres({ isDurable: true })
  try {
    await measureOn(database.address, [database.pid])
  } finally {
    await database.stop()
  }
}

async function measureOn(store: string, beside: readonly number[]): Promise<void> {
  const config = join(directory, 'config.json')
  // All clients are on one address, and may have a thread each.
  writeFileSync(config, JSON.stringify({ limits: { statementsPerCallerMax: 64, statementsMax: 64 } }))
  const serve = ['serve', '--config', config, '--port', '0', '--log-level', 'warn', '--data', directory]
  const words = [...serve, '--fd', `default=${store}`]
  const server = await startChild([programOf(), ...words], { core: takeCores()?.server, beside })
  try {
    await prepare(server.url)
    for (const [name, row] of Object.entries(rows)) {
      if (only !== undefined && !only.split(',').includes(name)) continue
      await compare(server, name, row)
    }
  } finally {
    await server.stop()
  }
}

interface Figures {
  readonly cpu: number
  readonly seconds: number
  readonly retries: number
}

async function compare(server: ChildServer, name: string, row: Row): Promise<void> {
  const taken: Record<Level, Figures[]> = { snapshot: [], serializable: [] }
  for (let round = -warmRounds; round < Number(rounds); round++) {
    const order = round % 2 === 0 ? levels : [...levels].reverse()
    for (const level of order) {
      const figures = await measured(server, row, level)
      if (round >= 0) taken[level].push(figures)
    }
  }
  const ratio = (of: keyof Figures): string =>
    median(taken.serializable.map((one, i) => one[of] / (taken.snapshot[i] as Figures)[of])).toFixed(3)
  const per = (level: Level): string => ((median(taken[level].map(({ cpu }) => cpu)) / row.requests) * 1e6).toFixed(0)
  const rate = (level: Level): string => (row.requests / median(taken[level].map(({ seconds }) => seconds))).toFixed(0)
  const retries = levels.map((level) => taken[level].reduce((sum, one) => sum + one.retries, 0))
  console.log(
    `${name}: CPU ${per('snapshot')} → ${per('serializable')} µs a request, × ${ratio('cpu')}; ` +
      `${rate('snapshot')} → ${rate('serializable')} requests/s, time × ${ratio('seconds')}; ` +
      `attempts again in ${row.requests * Number(rounds)} requests: ${retries.join(' → ')}`,
  )
}

async function measured(server: ChildServer, row: Row, level: Level): Promise<Figures> {
  const requests = Array.from({ length: row.requests }, (_, nth) => row.request(level, nth))
  const before = server.cpuSeconds()
  const retriesBefore = await retriesOf(server.url)
  const { connections } = row
  const result = await generator.run({ url: server.url, connections, requests, isOnce: true, seconds: secondsMax })
  if (result.refused > 0) throw new Error(`${result.refused} requests were refused`)
  const cpu = server.cpuSeconds() - before
  return { cpu, seconds: result.seconds, retries: (await retriesOf(server.url)) - retriesBefore }
}

async function retriesOf(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const found = /^ashlar_commit_retries_total\{[^}]*\} (\d+)/m.exec(text)
  return Number(found?.[1] ?? Number.NaN)
}

async function prepare(url: string): Promise<void> {
  const post = async (path: string, body: object): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!reply.ok) throw new Error(await reply.text())
    return reply.json()
  }
  const query = async (text: string): Promise<void> => {
    await post('/v1/query', { query: text })
  }
  await query(
    'UPDATE SCHEMA { CREATE CLASS Item {k: Integer, g: Integer, n: Integer}, CREATE CLASS Slot {g: Integer} }',
  )
  await query('CREATE INDEX itemByK ON Item(k)')
  await query('CREATE INDEX itemByG ON Item(g)')
  await query('CREATE INDEX slotByG ON Slot(g)')
  const made: string[] = []
  for (let first = 0; first < items; first += 1_000) {
    const objects = Array.from({ length: 1_000 }, (_, i) => ({
      class: 'Item',
      attributes: { k: first + i, g: Math.floor((first + i) / perGroup), n: 0 },
    }))
    made.push(
      ...((await post('/v1/object', objects)) as { __identifier__: string }[]).map(
        ({ __identifier__ }) => __identifier__,
      ),
    )
  }
  oids = made
}
