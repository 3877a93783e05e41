/**
 * What constraints cost on the built server: `node --import tsx bench/constraints.ts [cost | online | sequences] [rounds]`.
 * - `cost`: creations and NDJSON of a class with ten constraints on five attributes beside the same class without any, by turns in one server. What counts is the median of the
 *   rounds' ratios of CPU time.
 * - `online`: each constraint added to a class with BENCH_OBJECTS objects (1,000,000), while other requests are sent at a steady pace; their longest waits, idle and meanwhile.
 * - `sequences`: numbers drawn per second, one and many at a time.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type ChildServer, startChild } from './child-server.ts'
import { openSocketGenerator } from './load/generators.ts'
import type { BenchRequest, Generator } from './load/load.ts'
import { takeCores } from './machine.ts'
import { programOf } from './program.ts'
import { median } from './rows/figures.ts'

const [part = 'cost', rounds = '12'] = process.argv.slice(2)
const objects = Number(process.env.BENCH_OBJECTS ?? 1_000_000)
const warmRounds = 3
const secondsMax = 300
const linesPerLoad = 2_000

const parts: Readonly<Record<string, (server: ChildServer, generator: Generator) => Promise<void>>> = {
  cost: measureCost,
  online: measureOnline,
  sequences: measureSequences,
}

async function measureCost(server: ChildServer, generator: Generator): Promise<void> {
  const attributes = 'title: String, status: String, amount: Integer, due: Date, code: String'
  const constrained = `title: String{Required, MinLength: 1, MaxLength: 100}, status: String{Required, Enumeration: ('open', 'done')},
    amount: Integer{Minimum: 0, Maximum: 1000000}, due: Date{Minimum: 2000-01-01}, code: String{MaxLength: 12, Pattern: '^[A-Z]{2}-[0-9]+$'}`
  await query(server, `UPDATE SCHEMA {CREATE CLASS Plain {${attributes}}, CREATE CLASS Strict {${constrained}}}`)
  const object = (cls: string, nth: number): object => {
    const status = nth % 2 === 0 ? 'open' : 'done'
    const title = `Task number ${nth}`
    return { class: cls, attributes: { title, status, amount: nth % 1_000, due: '2026-05-17', code: `AB-${nth}` } }
  }
  const rows: Readonly<
    Record<string, { requests: number; objects: number; of(cls: string, nth: number): BenchRequest }>
  > = {
    create: {
      requests: 8_000,
      objects: 1,
      of: (cls, nth) => ({ method: 'POST', path: '/v1/object', body: JSON.stringify([object(cls, nth)]) }),
    },
    ndjson: {
      requests: 12,
      objects: linesPerLoad,
      of: (cls, nth) => {
        const lines = Array.from({ length: linesPerLoad }, (_, i) => JSON.stringify(object(cls, nth * 7 + i)))
        const body = `${lines.join('\n')}\n`
        return { method: 'POST', path: '/v1/object', body, contentType: 'application/x-ndjson' }
      },
    },
  }
  for (const [name, row] of Object.entries(rows)) {
    const cpu: Record<'Plain' | 'Strict', number[]> = { Plain: [], Strict: [] }
    for (let round = -warmRounds; round < Number(rounds); round++) {
      const order = round % 2 === 0 ? (['Plain', 'Strict'] as const) : (['Strict', 'Plain'] as const)
      for (const cls of order) {
        const requests = Array.from({ length: row.requests }, (_, nth) => row.of(cls, nth))
        const before = server.cpuSeconds()
        const load = { url: server.url, connections: name === 'ndjson' ? 1 : 32, requests, isOnce: true }
        const { refused } = await generator.run({ ...load, seconds: secondsMax })
        if (refused > 0) throw new Error(`${refused} requests were refused`)
        if (round >= 0) cpu[cls].push(((server.cpuSeconds() - before) / (row.requests * row.objects)) * 1e6)
      }
    }
    const ratio = median(cpu.Strict.map((one, i) => one / (cpu.Plain[i] as number)))
    console.log(
      `${name}: ${median(cpu.Plain).toFixed(1)} µs of CPU an object without constraints, ${median(cpu.Strict).toFixed(1)} with ten, × ${ratio.toFixed(3)}`,
    )
  }
}

/** Each constraint, as a change of the class, and what takes it away again. */
const constraints: readonly (readonly [name: string, body: object, back: object | undefined])[] = [
  constrain('isRequired', { attributeName: 'name', isRequired: true }, { isRequired: null }),
  constrain('enumeration', { attributeName: 'state', enumeration: ['open', 'done'] }, { enumeration: null }),
  constrain(
    'minimum, maximum',
    { attributeName: 'number', minimum: 0, maximum: 1e9 },
    { minimum: null, maximum: null },
  ),
  constrain('maxLength', { attributeName: 'name', maxLength: 40 }, { maxLength: null }),
  constrain('pattern', { attributeName: 'name', pattern: '^item [0-9]+$' }, { pattern: null }),
  constrain('maxItems', { attributeName: 'tags', maxItems: 10 }, { maxItems: null }),
  constrain('isUnique', { attributeName: 'number', isUnique: true }, { isUnique: null }),
  constrain('onTargetDelete', { attributeName: 'friend', onTargetDelete: 'restrict' }, { onTargetDelete: null }),
  [
    'check',
    { classFields: { checks: [{ name: 'c', expression: "number >= 0 OR name = 'x'" }] } },
    { classFields: { checks: null } },
  ],
]

function constrain(
  name: string,
  change: Readonly<Record<string, unknown>>,
  back: object,
): (typeof constraints)[number] {
  const { attributeName } = change
  return [name, { attributesToConstrain: [change] }, { attributesToConstrain: [{ attributeName, ...back }] }]
}

async function measureOnline(server: ChildServer): Promise<void> {
  await query(
    server,
    'UPDATE SCHEMA {CREATE CLASS Item {number: Integer, name: String, state: String, tags: List{Element: String}, friend: Reference{Referenced: Item}}, CREATE CLASS Other {n: Integer}}',
  )
  for (let at = 0; at < objects; at += 10_000) {
    const lines = Array.from({ length: Math.min(10_000, objects - at) }, (_, i) => {
      const number = at + i
      return JSON.stringify({
        class: 'Item',
        attributes: { number, name: `item ${number}`, state: 'open', tags: ['a'] },
      })
    })
    await send(server, 'POST', '/v1/object', `${lines.join('\n')}\n`, 'application/x-ndjson')
  }
  const idle = new Probe(server)
  await delay(10_000)
  console.log(`idle: ${await idle.stop()}`)
  for (const [name, body, back] of constraints) {
    const probe = new Probe(server)
    const started = performance.now()
    const failure = await send(server, 'PUT', '/v1/schema/Item', JSON.stringify(body)).then(
      () => '',
      (error: Error) => ` REFUSED: ${error.message}`,
    )
    const seconds = (performance.now() - started) / 1_000
    console.log(`${name}: ${seconds.toFixed(1)} s for ${objects} objects; meanwhile ${await probe.stop()}${failure}`)
    if (back !== undefined && failure === '') await send(server, 'PUT', '/v1/schema/Item', JSON.stringify(back))
  }
}

/** Sends a read and a creation of another class every few milliseconds, and notes how long each takes. */
class Probe {
  private readonly waits: Record<'read' | 'create', number[]> = { read: [], create: [] }
  private isOver = false
  private readonly ended: Promise<unknown>

  constructor(server: ChildServer) {
    this.ended = Promise.all([
      this.repeat('read', () => query(server, 'FROM Other WHERE n = 1 TAKE 1 RETURN n')),
      this.repeat('create', () => query(server, 'CREATE Other {n: 1}')),
    ])
  }

  async stop(): Promise<string> {
    this.isOver = true
    await this.ended
    const shown = Object.entries(this.waits).map(([name, all]) => {
      const sorted = all.sort((one, other) => one - other)
      const at = (share: number): string => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(1)
      return `${name} p50 ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)} ms of ${sorted.length}`
    })
    return shown.join('; ')
  }

  private async repeat(kind: 'read' | 'create', act: () => Promise<unknown>): Promise<void> {
    while (!this.isOver) {
      const started = performance.now()
      await act()
      this.waits[kind].push(performance.now() - started)
      await delay(5)
    }
  }
}

async function measureSequences(server: ChildServer, generator: Generator): Promise<void> {
  await query(server, 'CREATE SEQUENCE s')
  for (const connections of [1, 32]) {
    const request: BenchRequest = {
      method: 'POST',
      path: '/v1/query',
      body: JSON.stringify({ query: "SHOW NEXT('s')" }),
    }
    const requests = Array.from({ length: connections === 1 ? 1_000 : 16_000 }, () => request)
    const load = { url: server.url, connections, requests, isOnce: true, seconds: secondsMax }
    const { answered, seconds, p50Ms, p99Ms } = await generator.run(load)
    console.log(
      `NEXT by ${connections}: ${(answered / seconds).toFixed(0)} numbers/s, p50 ${p50Ms.toFixed(2)}, p99 ${p99Ms.toFixed(2)} ms`,
    )
  }
}

async function query(server: ChildServer, text: string): Promise<unknown> {
  return send(server, 'POST', '/v1/query', JSON.stringify({ query: text }))
}

async function send(
  server: ChildServer,
  method: string,
  path: string,
  body: string,
  contentType = 'application/json',
): Promise<unknown> {
  const reply = await fetch(`${server.url}${path}`, { method, headers: { 'content-type': contentType }, body })
  const text = await reply.text()
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text.slice(0, 300)}`)
  return text
}

const run = parts[part]
if (run === undefined) throw new Error(`There is no part ${part}: ${Object.keys(parts).join(', ')}.`)
const data = mkdtempSync(join(tmpdir(), 'ashlar-constraints-'))
const generator = openSocketGenerator()
const words = [programOf(), 'serve', '--port', '0', '--data', data, '--fd', 'default', '--log-level', 'warn']
const server = await startChild(words, { core: part === 'online' ? undefined : takeCores()?.server })
try {
  await run(server, generator)
} finally {
  await server.stop()
  await generator.close()
  rmSync(data, { recursive: true, force: true })
}
