/**
 * Kills beside clients that count: `node --import tsx bench/stress.ts <store> <minutes> [workers] [seconds between kills]`, with
 * `STRESS_BESIDE` as a command that is run again and again meanwhile (an opener of the store, a killer of database nodes). Each change has an
 * `Idempotency-Key` and is sent until it is answered; at the end what was acknowledged must be stored, once, and `ashlar verify` find nothing.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { programOf } from './program.ts'

const [store, minutes = '10', workers = '8', killSeconds = '2'] = process.argv.slice(2)
if (store === undefined)
  throw new Error('usage: node --import tsx bench/stress.ts <store> <minutes> [workers] [seconds between kills]')
const clients = 16
const counters = 8
/** Objects of one large commit, which LMDB's driver applies in slices. */
const wide = 4_000
const program = programOf()
const endsAt = performance.now() + Number(minutes) * 60_000
const isOver = (): boolean => performance.now() > endsAt

interface Shown {
  readonly __identifier__: string
  readonly code: string
  readonly n: number
  readonly items: readonly string[]
}

interface Reply {
  readonly status: number
  readonly json: unknown
}

const port = await freePort()
const url = `http://127.0.0.1:${port}`
const words = [program, 'serve', '--port', String(port), '--fd', `stress=${store}`, '--workers', workers]
const server = spawn(process.execPath, [...words, '--log-level', 'fatal'], { stdio: ['ignore', 'ignore', 'inherit'] })
const tally = {
  creations: 0,
  increments: 0,
  sweeps: 0,
  pairs: 0,
  deletions: 0,
  additions: 0,
  repetitions: 0,
  kills: 0,
  beside: 0,
}
const faults: string[] = []
const increments = Array.from({ length: counters }, () => 0)
/** By code: the OID of what was acknowledged as created and not as deleted. */
const present = new Map<string, string>()
const deleted = new Set<string>()
const hubs: string[] = []
const added = new Map<string, string>()

await setUp()
const chores = [killWorkers(), runBeside(), sweep()]
await Promise.all(Array.from({ length: clients }, (_, nth) => client(nth)))
await Promise.all(chores)
await compare()
await end()

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port: free } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  return free
}

/** Until there is an answer that is one: what failed on its way, or was refused for a while, is sent again with the same key. */
async function send(method: string, path: string, body?: unknown): Promise<Reply> {
  const key = randomBytes(12).toString('hex')
  for (;;) {
    const answered = await attempt(method, path, key, body)
    if (answered !== undefined) return answered
    tally.repetitions++
    await delay(50)
  }
}

async function attempt(method: string, path: string, key: string, body?: unknown): Promise<Reply | undefined> {
  try {
    const headers = { 'content-type': 'application/json', ...(method === 'GET' ? {} : { 'idempotency-key': key }) }
    const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) }
    const reply = await fetch(url + path, { ...init, signal: AbortSignal.timeout(60_000) })
    const text = await reply.text()
    const json = text === '' ? undefined : JSON.parse(text)
    if (reply.status < 500 && reply.status !== 429 && !/in progress|under way/i.test(text))
      return { status: reply.status, json }
    if (reply.status === 500) faults.push(`${method} ${path}: 500 ${text.slice(0, 300)}`)
  } catch {
    // A connection that a killed worker had.
  }
  return undefined
}

function shown({ json }: Reply): Shown {
  return json as Shown
}

function expectStatus(what: string, { status, json }: Reply, ...wanted: number[]): void {
  if (!wanted.includes(status)) faults.push(`${what}: ${status} ${JSON.stringify(json).slice(0, 300)}`)
}

async function setUp(): Promise<void> {
  const { counts } = (await send('GET', '/v1/fd')).json as { readonly counts: { readonly classes: number } }
  if (counts.classes > 0) {
    server.kill('SIGTERM')
    throw new Error(`${store} is not empty: what it holds would be taken for faults`)
  }
  const attributes = [
    { attributeName: 'code', logicalType: 'string' },
    { attributeName: 'n', logicalType: 'integer' },
    { attributeName: 'hub', logicalType: 'reference', referencedClass: 'Hub', inverseAttribute: 'items' },
  ]
  const items = {
    attributeName: 'items',
    logicalType: 'list',
    elementSpecification: { logicalType: 'reference', referencedClass: 'Item', inverseAttribute: 'hub' },
  }
  const classes = [
    { className: 'Item', isReferenceable: true, attributes },
    { className: 'Hub', isReferenceable: true, attributes: [items] },
    { className: 'Wide', isReferenceable: true, attributes: [{ attributeName: 'n', logicalType: 'integer' }] },
  ]
  expectStatus('schema', await send('PUT', '/v1/schema', classes), 200, 201)
  const index = { name: 'byCode', indexedClass: 'Item', isUnique: true, keyAttributes: [{ attributeName: 'code' }] }
  expectStatus('index', await send('POST', '/v1/index', index), 201)
  for (let nth = 0; nth < counters; nth++) await create(`counter ${nth}`)
  for (let nth = 0; nth < 4; nth++) {
    hubs.push(shown(await send('POST', '/v1/object', { class: 'Hub', attributes: {} })).__identifier__)
  }
  const range = `LIST{${Array.from({ length: wide }, () => 0).join()}}`
  expectStatus(
    'wide',
    await send('POST', '/v1/query', { query: `FOR EACH n IN ${range} => (CREATE Wide {n: $n})` }),
    200,
  )
}

/** Large changes beside the small ones: each is made wholly, once. */
async function sweep(): Promise<void> {
  while (!isOver()) {
    expectStatus('sweep', await send('POST', '/v1/query', { query: 'UPDATE Wide SET n TO n + 1 RETURN COUNT()' }), 200)
    tally.sweeps++
    await delay(500)
  }
}

async function create(code: string): Promise<string> {
  const reply = await send('POST', '/v1/object', { class: 'Item', attributes: { code, n: 0 } })
  expectStatus(`creation of ${code}`, reply, 201)
  const oid = shown(reply).__identifier__
  present.set(code, oid)
  return oid
}

async function client(nth: number): Promise<void> {
  for (let round = 0; !isOver(); round++) {
    const code = `${nth}-${round}`
    const oid = await create(code)
    tally.creations++
    const seen = await send('GET', `/v1/object/${oid}`)
    if (seen.status !== 200 || shown(seen).code !== code)
      faults.push(`${code} is hidden after its acknowledgement: ${seen.status}`)
    await increment((nth + round) % counters)
    await createPair(code)
    if (round % 3 === 0) await addToHub(code, oid)
    if (round % 4 === 1) await remove(code, oid)
  }
}

async function increment(counter: number): Promise<void> {
  const query = `UPDATE Item WHERE code = 'counter ${counter}' SET n TO n + 1 RETURN COUNT()`
  expectStatus('increment', await send('POST', '/v1/query', { query }), 200)
  increments[counter] = (increments[counter] ?? 0) + 1
  tally.increments++
}

async function createPair(code: string): Promise<void> {
  const operations = ['a', 'b'].map((half) => {
    const body = { class: 'Item', attributes: { code: `${code}-${half}`, n: 0 } }
    return { method: 'POST', uri: '/v1/object', body }
  })
  const reply = await send('POST', '/v1/transaction', operations)
  expectStatus(`pair of ${code}`, reply, 200)
  if (!Array.isArray(reply.json)) return
  for (const [position, half] of ['a', 'b'].entries()) {
    const { responseCode, result } = (reply.json as { responseCode: string; result: Shown }[])[position] ?? nothingMade
    if (responseCode !== '201') faults.push(`pair of ${code}: ${JSON.stringify(reply.json).slice(0, 300)}`)
    present.set(`${code}-${half}`, result.__identifier__)
  }
  tally.pairs++
}

const nothingMade = { responseCode: 'none', result: { __identifier__: '' } }

async function addToHub(code: string, oid: string): Promise<void> {
  const hub = hubs[tally.additions % hubs.length] as string
  const body = { attributes: { items: { action: 'add', elements: [oid] } } }
  expectStatus(`addition of ${code}`, await send('PUT', `/v1/object/${hub}`, body), 200, 204)
  added.set(oid, hub)
  tally.additions++
}

async function remove(code: string, oid: string): Promise<void> {
  expectStatus(`deletion of ${code}`, await send('DELETE', `/v1/object/${oid}`), 200, 204)
  present.delete(code)
  added.delete(oid)
  deleted.add(oid)
  tally.deletions++
}

/** The oldest each time: one that is killed before it serves, again and again, ends the server, as it is to. */
async function killWorkers(): Promise<void> {
  // One that ends before all of them serve ends the start.
  await delay(Number(workers) * 4_000)
  while (!isOver()) {
    await delay(Number(killSeconds) * 1_000)
    if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`)
    const pids = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').split(' ').filter(Boolean)
    const [oldest] = pids.map(Number).toSorted((one, other) => startOf(one) - startOf(other))
    if (oldest === undefined) continue
    try {
      process.kill(oldest, 'SIGKILL')
      tally.kills++
    } catch {
      // It has just ended by itself.
    }
  }
}

/** When a process began, in the kernel's own count; of one that is gone: after all others. */
function startOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19])
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

async function runBeside(): Promise<void> {
  const command = process.env.STRESS_BESIDE
  while (command !== undefined && !isOver()) {
    const child = spawn('sh', ['-c', command], { stdio: 'ignore' })
    await once(child, 'exit')
    tally.beside++
    await delay(200)
  }
}

/** What is stored against what was acknowledged. */
async function compare(): Promise<void> {
  const rows = (await send('POST', '/v1/query', { query: 'FROM Item RETURN code, n' })).json as Shown[]
  const stored = new Map<string, number>()
  for (const { code, n } of rows) {
    if (stored.has(code)) faults.push(`${code} is stored twice`)
    if (!present.has(code)) faults.push(`${code} is stored, and was not acknowledged or is deleted`)
    stored.set(code, n)
  }
  for (const code of present.keys()) if (!stored.has(code)) faults.push(`${code} was acknowledged, and is not stored`)
  for (const [counter, wanted] of increments.entries()) {
    const n = stored.get(`counter ${counter}`)
    if (n !== wanted) faults.push(`counter ${counter} is ${n} after ${wanted} increments`)
  }
  const sums = (
    await send('POST', '/v1/query', { query: 'FROM Wide RETURN COUNT() AS count, MIN(n) AS min, MAX(n) AS max' })
  ).json
  const wanted = JSON.stringify([{ count: wide, min: tally.sweeps, max: tally.sweeps }])
  if (JSON.stringify(sums) !== wanted) faults.push(`the wide class has ${JSON.stringify(sums)}, not ${wanted}`)
  for (const hub of hubs) {
    const { items } = shown(await send('GET', `/v1/object/${hub}`))
    const wanted = [...added].filter(([, owner]) => owner === hub).map(([oid]) => oid)
    if (items.toSorted().join() !== wanted.toSorted().join())
      faults.push(`hub ${hub} has ${items.length} items, not ${wanted.length}`)
  }
}

async function end(): Promise<void> {
  const ended = once(server, 'exit')
  server.kill('SIGTERM')
  await ended
  const verify = spawn(process.execPath, [program, 'verify', store as string], { stdio: 'inherit' })
  const [code] = await once(verify, 'exit')
  if (code !== 0) faults.push(`verify ended with ${code}`)
  process.stdout.write(`${JSON.stringify({ minutes, workers, ...tally, stored: present.size })}\n`)
  for (const fault of faults.slice(0, 20)) process.stdout.write(`FAULT ${fault}\n`)
  process.stdout.write(`${faults.length} faults\n`)
  process.exitCode = faults.length === 0 ? 0 : 1
}
