/**
 * What one request makes others wait: the worst wait of a probe each 5 ms, from another process, while each of the entries in
 * `stalls/entries.ts` is carried out by a built server on LMDB that this starts.
 * `--as` has the server know its callers: a role, by which the entry is carried out while all else is done by an administrator, or `nobody`.
 * Run: node --import tsx bench/stalls.ts [--of another checkout] [--runs n] [--as role] [--options "words for serve"] [entry …]
 */
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { type ChildServer, startChild } from './child-server.ts'
import { programOf } from './program.ts'
import { type Entry, entries } from './stalls/entries.ts'
import { askAs, exchange } from './stalls/exchange.ts'
import { type Hold, holdCells, holdColumns, longestHold } from './stalls/longest-hold.ts'
import type { Waits } from './stalls/probe.ts'

const { values: options, positionals: asked } = parseArgs({
  options: {
    of: { type: 'string', default: '.' },
    runs: { type: 'string', default: '3' },
    options: { type: 'string', default: '' },
    as: { type: 'string' },
  },
  allowPositionals: true,
})
/** Longer than any request may take by its limits. */
const entryMsMax = 300_000
const memoryEveryMs = 50
/** Before and after a request, so that waits are those of the request. */
const restMs = 1_000
const program = programOf(options.of)
const password = randomBytes(12).toString('hex')

const header = ['entry', 'read ms', 'health', 'refused', 'write', ...holdColumns, 's', 'RssAnon MiB', 'status']

interface Measured extends Waits, Hold {
  readonly seconds: number
  readonly status: string
  readonly mebibytes: number
}

const chosen = entries.filter(({ name, isLong }) => (asked.length === 0 ? isLong !== true : asked.includes(name)))
for (const name of asked)
  if (entries.every((entry) => entry.name !== name)) throw new Error(`no entry is named ${name}`)
process.stdout.write(`${header.join(' | ')}\n`)
for (const entry of chosen) {
  for (let run = 0; run < Number(options.runs); run++) {
    try {
      print(entry, await measured(entry))
    } catch (error) {
      process.stdout.write(`${entry.name} | ${error instanceof Error ? error.message : String(error)}\n`)
    }
  }
}

async function measured(entry: Entry): Promise<Measured> {
  const directory = mkdtempSync(join(tmpdir(), 'ashlar-stalls-'))
  const holds = join(directory, 'holds')
  process.env.STALLS_HOLDS = holds
  const hook = pathToFileURL(fileURLToPath(new URL('stalls/loop-holds.mjs', import.meta.url))).href
  process.env.NODE_OPTIONS = `${process.env.STALLS_NODE_OPTIONS ?? ''} --import=${hook}`
  const isKnown = options.as !== undefined
  if (isKnown) process.env.ASHLAR_ADMIN_PASSWORD = password
  const words = [
    ...(isKnown ? ['serve', '--auth'] : ['serve']),
    '--port',
    '0',
    '--data',
    join(directory, 'data'),
    '--log-level',
    'fatal',
  ]
  const starting = startChild([program, ...words, ...options.options.split(' ').filter(Boolean)])
  delete process.env.NODE_OPTIONS
  const server = await starting
  try {
    return await during(entry, server, holds)
  } finally {
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function during(entry: Entry, server: ChildServer, holds: string): Promise<Measured> {
  const { url } = server
  askAs(undefined)
  const admin = options.as === undefined ? undefined : await tokenOf(url, 'admin')
  const attacker = options.as === undefined || options.as === 'nobody' ? undefined : await tokenOf(url, options.as)
  askAs(admin)
  const [readOid, writtenOid] = await objectsOfOthers(url)
  const prepared = (await entry.prepare?.(url)) ?? []
  const probe = fork(fileURLToPath(new URL('stalls/probe.ts', import.meta.url)), { execArgv: ['--import', 'tsx'] })
  probe.send({ url, readOid, writtenOid, authorization: admin })
  await rest(2 * restMs)
  probe.send('begin')
  let mebibytes = 0
  const memory = setInterval(() => {
    mebibytes = Math.max(mebibytes, server.memory().own)
  }, memoryEveryMs)
  askAs(attacker)
  const began = Date.now()
  const start = performance.now()
  const replies = await Promise.race([entry.run(url, prepared), rest(entryMsMax)])
  const seconds = (performance.now() - start) / 1_000
  await rest(restMs)
  const answered = once(probe, 'message')
  probe.send('end')
  const [waits] = (await answered) as [Waits]
  clearInterval(memory)
  probe.disconnect()
  const status = replies === undefined ? 'none in time' : statuses(replies.map((reply) => reply.status))
  return { ...waits, seconds, status, mebibytes, ...longestHold(holds, began) }
}

/** `64 × 200, 36 × 503` */
function statuses(all: readonly number[]): string {
  const counts = new Map<number, number>()
  for (const status of all) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].map(([status, count]) => (count === 1 ? `${status}` : `${count} × ${status}`)).join(', ')
}

/** The Authorization header of a token with that role. */
async function tokenOf(url: string, role: string): Promise<string> {
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`
  const { status, text } = await exchange(
    url,
    'POST',
    '/v1/security/token',
    { name: role, roles: [role] },
    { authorization },
  )
  if (status !== 201) throw new Error(`no token: ${status} ${text}`)
  return `Bearer ${(JSON.parse(text) as { token: string }).token}`
}

/** What the probe reads and writes. */
async function objectsOfOthers(url: string): Promise<string[]> {
  const attributes = [{ attributeName: 'n', logicalType: 'integer' }]
  await exchange(url, 'PUT', '/v1/schema', [{ className: 'Other', isReferenceable: true, attributes }])
  const oids: string[] = []
  for (let i = 0; i < 2; i++) {
    const { text } = await exchange(url, 'POST', '/v1/object', { class: 'Other', attributes: { n: i } })
    oids.push((JSON.parse(text) as { __identifier__: string }).__identifier__)
  }
  return oids
}

function rest(ms: number): Promise<undefined> {
  return new Promise((done) => setTimeout(() => done(undefined), ms).unref())
}

function print({ name }: Entry, { read, health, refused, write, seconds, status, mebibytes, ...hold }: Measured): void {
  const ms = (wait: number): string => String(Math.round(wait))
  const row = [
    name,
    ms(read),
    ms(health),
    ms(refused),
    ms(write),
    ...holdCells(hold),
    seconds.toFixed(1),
    mebibytes,
    status,
  ]
  process.stdout.write(`${row.join(' | ')}\n`)
}
