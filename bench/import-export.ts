/**
 * So many objects in and out, by the commands of the program, beside `sqlite3 .import` where it is installed: objects a second, CPU, and the most memory of each side.
 * `node --import tsx bench/import-export.ts [objects]`. Of memory counts RssAnon, looked at every 50 ms.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdtempSync, openSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { type ChildServer, startChild } from './child-server.ts'
import { cpuSecondsOf, memoryOf, withDescendants } from './processes.ts'
import { programOf, withoutChangeLog } from './program.ts'

const objects = Number(process.argv[2] ?? 1_000_000)
const secondsMax = 600
const columns = ['plate', 'year', 'mileage', 'price', 'sold', 'note']

const directory = mkdtempSync(join(tmpdir(), 'ashlar-import-'))
const program = programOf()
const file = (name: string): string => join(directory, name)

function valuesOf(n: number): Record<string, string | number> {
  const day = new Date(1.5e12 + (n % 3_000) * 86_400_000).toISOString().slice(0, 10)
  return {
    plate: `P ${n}`,
    year: 1_990 + (n % 35),
    mileage: (n * 7_919) % 300_000,
    price: (n % 10_007) / 4,
    sold: day,
    note: `the note of number ${n}`,
  }
}

async function write(name: string, header: string, line: (n: number) => string): Promise<void> {
  const stream = createWriteStream(file(name))
  stream.write(header)
  for (let from = 0; from < objects; from += 1_000) {
    const lines = Array.from({ length: Math.min(1_000, objects - from) }, (_, i) => `${line(from + i)}\n`)
    if (!stream.write(lines.join(''))) await once(stream, 'drain')
  }
  stream.end()
  await finished(stream)
}

interface Taken {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly serverCpuSeconds: number
  /** MiB. */
  readonly peak: number
  readonly serverPeak: number
}

/** A process, while the memory of both sides is looked at. */
async function taken(child: ChildProcess, server?: ChildServer): Promise<Taken> {
  const began = performance.now()
  const before = server?.cpuSeconds() ?? 0
  let [peak, serverPeak, cpuSeconds] = [0, 0, 0]
  const look = (): void => {
    try {
      const pids = withDescendants([child.pid as number])
      peak = Math.max(peak, memoryOf(pids).own)
      cpuSeconds = Math.max(
        cpuSeconds,
        pids.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0),
      )
    } catch {
      // It has ended.
    }
    serverPeak = Math.max(serverPeak, server?.memory().own ?? 0)
  }
  const looking = setInterval(look, 50)
  const ending = setTimeout(() => child.kill(), secondsMax * 1_000)
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  clearInterval(looking)
  clearTimeout(ending)
  if (code !== 0) throw new Error(`${child.spawnargs.join(' ')} ended with ${code}`)
  const serverCpuSeconds = (server?.cpuSeconds() ?? 0) - before
  return { seconds: (performance.now() - began) / 1_000, cpuSeconds, serverCpuSeconds, peak, serverPeak }
}

function show(what: string, { seconds, cpuSeconds, serverCpuSeconds, peak, serverPeak }: Taken): void {
  const rate = Math.round(objects / seconds).toLocaleString('en')
  const cpu = `${cpuSeconds.toFixed(1)} + ${serverCpuSeconds.toFixed(1)}`
  process.stdout.write(`| ${what} | ${seconds.toFixed(1)} | ${rate} | ${cpu} | ${peak} | ${serverPeak} |\n`)
}

function ashlar(server: ChildServer, words: readonly string[]): ChildProcess {
  return spawn(process.execPath, [program, ...words, '--url', server.url, '--fd', 'bench', '--quiet'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, XDG_CONFIG_HOME: directory },
  })
}

async function ask(server: ChildServer, query: string): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ query })
  const reply = await fetch(`${server.url}/v1/query`, { method: 'POST', headers, body })
  if (!reply.ok) throw new Error(await reply.text())
}

const type = 'plate: String, year: Integer, mileage: Integer, price: Real, sold: Date, note: String'

try {
  await write('in.csv', `${columns.join(',')}\n`, (n) => Object.values(valuesOf(n)).join(','))
  await write('in.ndjson', '', (n) => JSON.stringify(valuesOf(n)))
  await write('bulk.ndjson', '', (n) => JSON.stringify({ class: 'Bulk', attributes: valuesOf(n) }))
  process.stdout.write(`${objects.toLocaleString('en')} objects of six attributes with a unique index; `)
  process.stdout.write(`CSV ${Math.round(statSync(file('in.csv')).size / 2 ** 20)} MiB. CPU: command + server.\n\n`)
  process.stdout.write(
    '| | s | objects/s | CPU s | peak MiB of the command | of the server |\n|---|---|---|---|---|---|\n',
  )
  for (const work of ['CSV', 'NDJSON', 'bulk'] as const) {
    const data = join(directory, work)
    const words = ['serve', '--port', '0', '--log-level', 'warn', '--data', data, '--fd', 'bench']
    const server = await startChild([program, ...words, ...withoutChangeLog('bench')])
    try {
      const name = work === 'bulk' ? 'Bulk' : 'Car'
      await ask(
        server,
        `UPDATE SCHEMA {CREATE CLASS ${name} {${type}}}; CREATE UNIQUE INDEX byPlate ON ${name} (plate)`,
      )
      if (work === 'bulk') {
        const url = `${server.url}/v1/object?fdAlias=bench`
        const head = ['-H', 'content-type: application/x-ndjson', '-H', 'expect:']
        const words = ['-s', '-o', file('replies'), '-T', file('bulk.ndjson'), '-X', 'POST', ...head, url]
        show('NDJSON bulk by curl', await taken(spawn('curl', words), server))
        continue
      }
      const source = file(work === 'CSV' ? 'in.csv' : 'in.ndjson')
      show(`import of ${work}`, await taken(ashlar(server, ['import', source, '--class', 'Car']), server))
      const format = work.toLowerCase()
      const out = ['export', 'Car', '--format', format, '--output', file(`out.${format}`)]
      show(`export as ${work}`, await taken(ashlar(server, out), server))
      if (work === 'CSV') {
        show('export as an archive', await taken(ashlar(server, ['export', '--output', file('out.tar.gz')]), server))
      }
    } finally {
      await server.stop()
      rmSync(data, { recursive: true })
    }
  }
  await beside()
} finally {
  rmSync(directory, { recursive: true })
}

/** One transaction, without a server, and durable at its end alone. */
async function beside(): Promise<void> {
  if (spawnSync('sqlite3', ['-version']).status !== 0) return
  const table = 'CREATE TABLE car (plate TEXT UNIQUE, year INTEGER, mileage INTEGER, price REAL, sold TEXT, note TEXT)'
  const sqlite = (words: readonly string[], output: 'ignore' | number = 'ignore'): ChildProcess =>
    spawn('sqlite3', [file('beside.db'), ...words], { stdio: ['ignore', output, 'inherit'] })
  await taken(sqlite(['PRAGMA journal_mode = WAL', table]))
  show('`sqlite3 .import`', await taken(sqlite(['.mode csv', `.import --skip 1 ${file('in.csv')} car`])))
  const output = openSync(file('beside.csv'), 'w')
  show('`sqlite3 -csv`', await taken(sqlite(['.mode csv', 'SELECT * FROM car'], output)))
}
