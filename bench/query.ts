/**
 * Measures queries over HTTP on the built server: a stream of few and of many objects (memory, first row), and with a folder of OpenFlights
 * tables and on-time records, questions to the flights: what they touch, and their CPU time beside that of SQLite.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ChildServer, startChild } from './child-server.ts'
import { printBesideSqlite, printTouched } from './flights/measure.ts'
import { loadMonth } from './flights/month.ts'
import { sqliteOf } from './flights/sqlite-flights.ts'
import { fillItems } from './items.ts'
import { programOf } from './program.ts'

const many = Number(process.env.BENCH_OBJECTS ?? 1_000_000)
const few = 1_000
/** The folder of tables, one where what is loaded is kept, and how many times the flights are loaded: 10.4 makes a month of them. */
const [tables, kept, times = '1'] = process.argv.slice(2)

if (tables === undefined) {
  for (const objects of [few, many]) await measureItems(objects)
} else await measureFlights(tables, kept, Number(times))

async function measureItems(objects: number): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'ashlar-bench-'))
  try {
    await fillItems(join(data, 'default'), objects)
    const server = await startChild([programOf(), 'serve', '--port', '0', '--data', data])
    try {
      await measureStream(server, objects)
    } finally {
      await server.stop()
    }
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

async function measureStream(server: ChildServer, objects: number): Promise<void> {
  const before = server.memory().own
  const started = performance.now()
  const reply = await fetch(`${server.url}/v1/query`, {
    method: 'POST',
    headers: { accept: 'application/x-ndjson', 'content-type': 'text/plain', 'accept-encoding': 'identity' },
    body: 'FROM Item RETURN *',
  })
  let bytes = 0
  let rows = 0
  let firstMs = 0
  let highest = before
  for await (const chunk of reply.body as AsyncIterable<Uint8Array>) {
    if (bytes === 0) firstMs = performance.now() - started
    bytes += chunk.length
    for (const byte of chunk) if (byte === 0x0a) rows++
    highest = Math.max(highest, server.memory().own)
  }
  const ms = performance.now() - started
  const speed = Math.round(rows / (ms / 1_000))
  process.stdout.write(
    `${objects} objects, FROM Item RETURN *: ${rows} rows, ${Math.round(bytes / 2 ** 20)} MiB in ${Math.round(ms)} ms ` +
      `(${speed} rows/s), first bytes after ${firstMs.toFixed(1)} ms; own memory ${before} MiB before, at most ${highest} MiB\n`,
  )
}

async function measureFlights(from: string, kept: string | undefined, count: number): Promise<void> {
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'ashlar-bench-'))
  mkdirSync(folder, { recursive: true })
  const data = join(folder, `flights-${count}`)
  try {
    if (!existsSync(data)) await loadMonth(from, data, count)
    // SQLite is filled by a query of all flights, which takes as long as it takes there.
    const config = join(folder, 'server.json')
    writeFileSync(config, JSON.stringify({ limits: { statementMsMax: 600_000 } }))
    const words = ['serve', '--port', '0', '--data', data, '--fd', 'flights', '--config', config]
    const server = await startChild([programOf(), ...words])
    try {
      const sqlite = await sqliteOf(server, join(folder, `flights-${count}.sqlite`))
      if (process.env.BENCH_LOAD_ONLY !== undefined) return
      await printTouched(server)
      process.stdout.write('\n')
      await printBesideSqlite(server, sqlite)
      sqlite.close()
    } finally {
      await server.stop()
    }
  } finally {
    if (kept === undefined) rmSync(folder, { recursive: true })
  }
}
