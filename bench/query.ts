/**
 * Measures queries over HTTP on the built server: a stream of few and of many objects (memory, first row), and the questions of
 * `flights-questions.ts` on data that `npm run demo` has loaded.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ChildServer, startChild } from './child-server.ts'
import { flightsQuestions } from './flights-questions.ts'
import { fillItems } from './items.ts'
import { programOf } from './program.ts'

const many = Number(process.env.BENCH_OBJECTS ?? 1_000_000)
const few = 1_000
/** A folder that holds the flights data, as `npm run demo -- --data` was given it. */
const flights = process.argv[2]

if (flights === undefined) {
  for (const objects of [few, many]) await measureItems(objects)
} else await measureFlights(flights)

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

interface AnalyzedPlan {
  readonly objectsRead: number
  readonly linksRead: number
  readonly examined: number
  readonly inputs?: readonly AnalyzedPlan[]
}

async function measureFlights(data: string): Promise<void> {
  const server = await startChild([programOf(), ...['serve', '--port', '0', '--data', data, '--fd', 'flights']])
  try {
    const rows = []
    for (const { question, text } of flightsQuestions) {
      await ask(server, text)
      const started = performance.now()
      const answer = await ask(server, text)
      const ms = performance.now() - started
      const [plan] = (await ask(server, `EXPLAIN ANALYZE ${text}`)) as [AnalyzedPlan]
      const examined = examinedBy(plan)
      const first = JSON.stringify(answer[0])?.slice(0, 50)
      rows.push({
        question,
        ms: Number(ms.toFixed(1)),
        rows: answer.length,
        examined,
        objects: plan.objectsRead,
        first,
      })
    }
    console.table(rows)
  } finally {
    await server.stop()
  }
}

/** Objects, index entries and links that the operators at the leaves looked at, and edges that walks tried. */
function examinedBy(plan: AnalyzedPlan): number {
  return plan.examined + (plan.inputs ?? []).reduce((sum, input) => sum + examinedBy(input), 0)
}

async function ask({ url }: ChildServer, text: string): Promise<unknown[]> {
  const reply = await fetch(`${url}/v1/query`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain' },
    body: text,
  })
  const body = (await reply.json()) as unknown[]
  if (!reply.ok) throw new Error(`${text}: ${JSON.stringify(body)}`)
  return body
}
