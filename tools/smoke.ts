/**
 * `npm run smoke`: what the built program does first and most, on other versions of Node than the tests run on; and whether `npm start` works alone on a clone. `npm run smoke -- <node> …` takes
 * programs of Node by their paths. The last line counts as that of the tests does.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { NodeUnavailable, nodeProgram, otherReleases } from './other-nodes.ts'

const execute = promisify(execFile)
const program = join(import.meta.dirname, '..', 'packages', 'cli', 'dist', 'bin', 'ashlar.cjs')

/** For one version: far more than it takes, so that what hangs is found. */
const runMsMax = 50_000
/** The lines of a load take longer together than `requestMsMax`, and each takes less. */
const limits = { headersMsMax: 500, requestMsMax: 1_000, stopMsMax: 100_000 }
const pauseMs = 300
const slowLines = 6

const serving = ['serve', '--port', '0', '--config', 'ashlar.json', '--fd', 'main=lmdb:store', '--log-level', 'warn']
const schema = 'UPDATE SCHEMA { CREATE CLASS Car {plate: String, mileage: Integer} }\n'

interface Run {
  readonly folder: string
  readonly url: string
  readonly server: ChildProcess
  /** The standard output of a command; rejects where its exit code is not 0. */
  ashlar(...words: readonly string[]): Promise<string>
}

type Step = (run: Run) => Promise<void>

function expectSame(found: unknown, wanted: unknown): void {
  const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)]
  if (one !== other) throw new Error(`${one} instead of ${other}`)
}

async function plates({ ashlar }: Run): Promise<string[]> {
  const rows = await ashlar('query', '--json', 'SELECT plate FROM Car ORDER BY plate')
  return [...rows.matchAll(/"plate":\s*"(\w+)"/g)].map((match) => match[1] as string)
}

const slow = Array.from({ length: slowLines }, (_, nth) => `slow${nth}`)

/** In their order: each builds on what those before it have done. */
const steps: Readonly<Record<string, Step>> = {
  async schema({ folder, ashlar }) {
    writeFileSync(join(folder, 'schema.do'), schema)
    await ashlar('schema', 'apply', 'schema.do')
    await ashlar('schema', 'check', 'schema.do')
  },
  async create(run) {
    await run.ashlar('create', 'Car', 'plate=first', 'mileage=40')
    expectSame(await plates(run), ['first'])
  },
  async 'slow lines'(run) {
    const headers = { 'content-type': 'application/x-ndjson' }
    const load = request(`${run.url}/v1/object`, { method: 'POST', headers })
    const response = once(load, 'response')
    for (const plate of slow) {
      load.write(`${JSON.stringify({ class: 'Car', attributes: { plate } })}\n`)
      await delay(pauseMs)
    }
    load.end()
    const [reply] = await response
    const outcomes = (await text(reply)).trim().split('\n')
    expectSame([reply.statusCode, outcomes.filter((line) => line.includes('"line"')).length], [200, slowLines])
    expectSame(await plates(run), ['first', ...slow])
  },
  async import(run) {
    writeFileSync(join(run.folder, 'cars.csv'), 'plate,mileage\nsold1,5\nsold2,7\n')
    await run.ashlar('import', 'cars.csv', '--class', 'Car')
    expectSame(await plates(run), ['first', ...slow, 'sold1', 'sold2'])
  },
  async export({ ashlar }) {
    expectSame((await ashlar('export', 'Car')).trim().split('\n').length, slowLines + 3)
  },
  async 'clients that leave'({ url }) {
    // Requests queued behind a body, and what is no HTTP: the server is told to stop once they are gone.
    for (let nth = 0; nth < 5; nth++) await leaveQueued(url)
  },
  async 'a client that closes its side'({ url }) {
    const { hostname, port } = new URL(url)
    const body = JSON.stringify({ class: 'Car', attributes: { plate: 'closed' } })
    const head = `POST /v1/object HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
    const socket = connect(Number(port), hostname)
    socket.end(`${head}\r\n\r\n${body}`)
    expectSame((await text(socket)).split(' ', 2)[1], '201')
  },
  async backup({ ashlar }) {
    await ashlar('backup', 'lmdb:store', 'kept')
    await ashlar('restore', 'kept', 'lmdb:restored')
  },
  async stop({ server }) {
    const ended = once(server, 'exit')
    server.kill('SIGTERM')
    expectSame(await ended, [0, null])
  },
  async verify({ ashlar }) {
    await ashlar('verify', 'lmdb:store')
    await ashlar('verify', 'lmdb:restored')
  },
}

async function leaveQueued(url: string): Promise<void> {
  const { hostname, port } = new URL(url)
  const get = 'GET /v1/fd HTTP/1.1\r\nhost: localhost\r\n\r\n'
  const post =
    'POST /v1/object HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n'
  for (const sent of [`${post}${get.repeat(30)}`, get.repeat(300)]) {
    const socket = connect(Number(port), hostname).on('error', () => undefined)
    await once(socket, 'connect')
    socket.write(sent)
    await new Promise(setImmediate)
    await once(socket.destroy(), 'close')
  }
}

/** Resolves to the server's URL, once it listens. */
async function listening(server: ChildProcess): Promise<string> {
  let output = ''
  for (;;) {
    const [piece] = await Promise.race([once(server.stdout as Readable, 'data'), once(server, 'exit').then(() => [])])
    if (piece === undefined) throw new Error('the server ended before it listened')
    output += piece
    const url = /listening on (http:\S+)/.exec(output)?.[1]
    if (url !== undefined) return url
  }
}

/** @throws Error that names the step which failed */
async function smoke(node: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'ashlar-smoke-'))
  writeFileSync(join(folder, 'ashlar.json'), JSON.stringify({ limits }))
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('ASHLAR_')))
  const server = spawn(node, [program, ...serving], { cwd: folder, env: inherited, stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  server.stderr.on('data', (piece) => {
    log += piece
  })
  const signal = AbortSignal.timeout(runMsMax)
  const stuck = once(signal, 'abort').then(() => {
    throw new Error(`it takes longer than ${runMsMax / 1_000} s`)
  })
  stuck.catch(() => undefined)
  let step = 'start'
  try {
    const url = await Promise.race([listening(server), stuck])
    server.stdout.resume()
    const options = { cwd: folder, env: { ...inherited, ASHLAR_URL: url }, signal }
    const ashlar = async (...words: readonly string[]): Promise<string> => {
      return (await execute(node, [program, ...words], options)).stdout
    }
    for (const [name, run] of Object.entries(steps)) {
      step = name
      await Promise.race([run({ folder, url, server, ashlar }), stuck])
    }
  } catch (error) {
    throw new Error(`${step}: ${error instanceof Error ? error.message : error}\n${log}`)
  } finally {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

/** To install what the clone depends on takes most of it. */
const freshStartMsMax = 300_000

/** `npm start` as the first and only command on a fresh clone. */
async function startOnClone(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'ashlar-clone-'))
  const clone = join(folder, 'clone')
  await execute('git', ['clone', '--quiet', '--shared', join(import.meta.dirname, '..'), clone])
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(ASHLAR|npm)_/.test(name)))
  // What goes on in the background after the start would outlast it.
  const env = { ...inherited, ASHLAR_COMPILE_LMDB: '0' }
  // A group of its own: npm does not pass on a signal to what it has started.
  const npm = spawn('npm', ['start', '--', '--port', '0'], { cwd: clone, env, detached: true })
  try {
    const late = once(AbortSignal.timeout(freshStartMsMax), 'abort').then(() =>
      Promise.reject(new Error('it takes too long')),
    )
    const url = await Promise.race([listening(npm), late])
    expectSame((await fetch(`${url}/health/ready`)).status, 200)
  } finally {
    process.kill(-(npm.pid as number), 'SIGKILL')
    await once(npm, 'close')
    rmSync(folder, { recursive: true, force: true })
  }
}

const counts = { passed: 0, failed: 0 }

async function tell(name: string, run: () => Promise<void>): Promise<void> {
  const began = performance.now()
  try {
    await run()
    counts.passed++
    console.log(`ok     ${name}  ${((performance.now() - began) / 1_000).toFixed(1)} s`)
  } catch (error) {
    if (error instanceof NodeUnavailable) return console.log(`skipped ${name}: ${error.message}`)
    counts.failed++
    console.log(`FAILED ${name}: ${error instanceof Error ? error.message : error}`)
  }
}

const given = process.argv.slice(2)
const versions: readonly [string, () => Promise<string>][] =
  given.length > 0
    ? given.map((path) => [path, async () => path])
    : otherReleases.map((release) => [`Node ${release.version}`, () => nodeProgram(release)])
await Promise.all(versions.map(([name, find]) => tell(name, async () => smoke(await find()))))
if (given.length === 0) await tell('npm start on a fresh clone', startOnClone)
console.log(`${counts.passed} passed, ${counts.failed} failed`)
process.exit(counts.failed > 0 ? 1 : 0)
