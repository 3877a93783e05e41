/**
 * What it costs to know who asks, and to keep from them what they may not see: `node --import tsx bench/callers.ts [rounds] [objects]`. One server
 * without authentication and one with it have the same store open; each operation is sent by turns to the one, to the other with a token
 * of the role `writer`, and with tokens of roles that have an object rule, which shows all objects. What counts is the median of CPU a request, and of the rounds' ratios to the first.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ChildServer, startChild } from './child-server.ts'
import { ashlar } from './contenders/ashlar.ts'
import type { Contender } from './contenders/contender.ts'
import { openSocketGenerator } from './load/generators.ts'
import type { BenchRequest } from './load/load.ts'
import { takeCores } from './machine.ts'
import { discard, fill } from './parts/fill.ts'
import { programOf } from './program.ts'
import { type Figures, median } from './rows/figures.ts'
import { type Bench, measure } from './rows/measure.ts'
import { rows } from './rows/rows.ts'

const requests: Record<string, number> = {
  read: 16_000,
  equality: 8_000,
  range: 1_000,
  'two-hops': 1_000,
  update: 8_000,
}
const secondsMax = 300
const rounds = Number(process.argv[2] ?? 5)
const objects = Number(process.argv[3] ?? 20_000)

interface Caller {
  readonly name: string
  readonly server: ChildServer
  readonly authorization?: string
}

const program = programOf()
const data = mkdtempSync(join(tmpdir(), 'ashlar-bench-callers-'))
const bench: Bench = { cores: takeCores(), generator: openSocketGenerator() }
const servers: ChildServer[] = []
let contender: Contender | undefined
try {
  contender = (await fill(bench, ashlar(), objects)).contender
  const words = [
    'serve',
    '--port',
    '0',
    '--fd',
    `bench=lmdb:${contender.place.address}`,
    '--log-level',
    'warn',
    '--data',
    data,
  ]
  const known = await startChild([program, ...words, '--auth'], { core: bench.cores?.server })
  servers.push(known)
  addRole('by-attribute', 'year >= 0')
  addRole('by-path', "model.maker.name != 'nobody'")
  const callers: Caller[] = [
    { name: 'authentication off', server: contender.server },
    { name: 'token, writer', server: known, authorization: tokenOf('writer') },
    { name: 'token, a rule on an attribute', server: known, authorization: tokenOf('by-attribute') },
    { name: 'token, a rule by two references', server: known, authorization: tokenOf('by-path') },
  ]
  print(callers, await compare(callers, contender))
} finally {
  for (const server of servers) await server.stop()
  if (contender !== undefined) await discard(contender)
  await bench.generator.close()
  rmSync(data, { recursive: true, force: true })
}

/** By operation: of each round, what was measured of each caller. */
async function compare(callers: readonly Caller[], filled: Contender): Promise<Map<string, Figures[][]>> {
  const measured = new Map<string, Figures[][]>()
  // The first round warms all of them up.
  for (let round = 0; round <= rounds; round++) {
    for (const [name, count] of Object.entries(requests)) {
      const row = rows.find((one) => one.name === name)
      const list = row?.requests(filled, count) ?? []
      const figures: Figures[] = []
      for (let turn = 0; turn < callers.length; turn++) {
        const at = (turn + round) % callers.length
        const { server, authorization } = callers[at] as Caller
        const sent = authorization === undefined ? list : list.map((one): BenchRequest => ({ ...one, authorization }))
        const load = { requests: sent, isOnce: true, seconds: secondsMax, connections: row?.connections ?? 1 }
        figures[at] = await measure(bench, server, load)
        process.stderr.write('.')
      }
      if (round > 0) measured.set(name, [...(measured.get(name) ?? []), figures])
    }
  }
  return measured
}

function addRole(name: string, rule: string): void {
  const seen = {
    on: { kind: 'class', className: 'Vehicle' },
    actions: ['read', 'update', 'query'],
    rules: { read: rule, update: rule },
  }
  const others = ['Model', 'Maker'].map((className) => ({
    on: { kind: 'class', className },
    actions: ['read', 'query'],
  }))
  const grants = JSON.stringify([seen, ...others])
  run(['role', 'add', name, '--grants-file', '-'], grants)
}

function tokenOf(role: string): string {
  const { token } = JSON.parse(run(['token', 'create', '--name', role, '--role', role, '--json'])) as {
    readonly token: string
  }
  return `Bearer ${token}`
}

function run(words: readonly string[], input = ''): string {
  return execFileSync(process.execPath, [program, ...words, '--data', data], { input, encoding: 'utf8' })
}

function print(callers: readonly Caller[], measured: ReadonlyMap<string, readonly (readonly Figures[])[]>): void {
  const table = [...measured].flatMap(([operation, all]) => {
    return callers.map(({ name }, at) => {
      const own = all.map((figures) => figures[at] as Figures)
      const ratios = all.map(
        (figures) => (figures[at] as Figures).cpuMicroseconds / (figures[0] as Figures).cpuMicroseconds,
      )
      return {
        operation,
        caller: name,
        'requests/s': Math.round(median(own.map(({ perSecond }) => perSecond))),
        'CPU µs': Number(median(own.map(({ cpuMicroseconds }) => cpuMicroseconds)).toFixed(1)),
        ratio: Number(median(ratios).toFixed(2)),
        refused: own.reduce((sum, { refused }) => sum + refused, 0),
      }
    })
  })
  console.table(table)
  process.stdout.write(`${rounds} rounds, ${objects} objects\n`)
}
