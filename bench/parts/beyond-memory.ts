/** What statements take that sort, group and join more than their memory: each in a process of its own, so that its peak is its own. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const statements: readonly string[] = [
  'FROM Item ORDER BY name RETURN name, size',
  'FROM Item ORDER BY day, size DESC RETURN *',
  'FROM Item GROUP BY name RETURN name, COUNT() AS n, SUM(size) AS s',
  'FROM Item RETURN DISTINCT name, day',
  'FROM Item i, Item j WHERE i.name = j.name RETURN i.number, j.size',
]

type EngineModule = typeof import('@ashlar/engine')

interface Measured {
  readonly rows: number
  readonly seconds: number
  readonly cpuSeconds: number
  readonly peakMiB: number
  readonly diskMiB: number
  /** For which the event loop was held at most: the processor time of the whole process meanwhile, since others use the processors too. */
  readonly longestMs: number
}

const mebibyte = 2 ** 20
/** As much as is needed. */
const unbounded = 4_096

async function measure(data: string, text: string, memoryMiB: number): Promise<Measured> {
  const entry = pathToFileURL(resolve(import.meta.dirname, '../../packages/engine/dist/index.js')).href
  const { FederatedDatabase, TemporarySpace, openStore } = (await import(entry)) as EngineModule
  const directory = mkdtempSync(join(tmpdir(), 'ashlar-bench-spill-'))
  const temporary = new TemporarySpace(directory)
  const bytes = memoryMiB * mebibyte
  const limits = {
    statementBytesMax: bytes,
    statementsBytesMax: Math.max(bytes, 384 * mebibyte),
    sortedRowsMax: 100_000_000,
    statementMsMax: 600_000,
  }
  const fd = await FederatedDatabase.open({
    alias: 'default',
    store: await openStore(`lmdb:${data}`),
    limits,
    temporary,
  })
  let [rows, diskBytes, peakBytes] = [0, 0, 0]
  const look = (): void => {
    diskBytes = Math.max(diskBytes, temporary.bytes)
    peakBytes = Math.max(peakBytes, process.memoryUsage.rss())
  }
  const looks = setInterval(look, 20)
  const before = process.cpuUsage()
  let [isOver, longestMs, last] = [false, 0, process.cpuUsage()]
  const turn = (): void => {
    const { user, system } = process.cpuUsage(last)
    last = process.cpuUsage()
    longestMs = Math.max(longestMs, (user + system) / 1_000)
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  const start = performance.now()
  for await (const { starts } of (await fd.query({ text })).chunks) rows += starts.length
  const ms = performance.now() - start
  isOver = true
  const { user, system } = process.cpuUsage(before)
  clearInterval(looks)
  look()
  await fd.close()
  rmSync(directory, { recursive: true })
  return {
    rows,
    seconds: ms / 1_000,
    cpuSeconds: (user + system) / 1e6,
    peakMiB: peakBytes / mebibyte,
    diskMiB: diskBytes / mebibyte,
    longestMs,
  }
}

/** `memory`: in MiB. */
export async function measureBeyondMemory(data: string, memory: readonly number[], objects: number): Promise<void> {
  process.stdout.write(
    `${objects} objects\nstatement | memory MiB | rows | s | CPU s | peak RSS MiB | on disk MiB | longest stretch, CPU ms\n`,
  )
  for (const text of statements) {
    for (const mebibytes of [unbounded, ...memory]) {
      const own = ['--import', 'tsx', import.meta.filename, data, text, String(mebibytes)]
      const told = execFileSync(process.execPath, own, { encoding: 'utf8', maxBuffer: mebibyte })
      const { rows, seconds, cpuSeconds, peakMiB, diskMiB, longestMs } = JSON.parse(told) as Measured
      const figures = [
        rows,
        seconds.toFixed(1),
        cpuSeconds.toFixed(1),
        peakMiB.toFixed(0),
        diskMiB.toFixed(0),
        longestMs.toFixed(0),
      ]
      process.stdout.write(`\`${text}\` | ${mebibytes} | ${figures.join(' | ')}\n`)
    }
  }
}

const [data, text, mebibytes] = process.argv.slice(2)
if (process.argv[1] === import.meta.filename && data !== undefined && text !== undefined) {
  process.stdout.write(JSON.stringify(await measure(data, text, Number(mebibytes))))
}
