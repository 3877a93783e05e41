/**
 * CPU an object of scans and aggregates, in the process of the engine: `node --import tsx bench/scans.ts [--data <dir>] [--of <other checkout>]`.
 * The objects are made where the directory has none; with `--of`, the built engine of that checkout answers by turns, in processes of its own.
 * `--memory 16,64` measures instead what statements take that sort, group and join with so many MiB of memory, beside as much as they need.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { fillItems } from './items.ts'
import { measureBeyondMemory } from './parts/beyond-memory.ts'

const objects = Number(process.env.BENCH_OBJECTS ?? 1_000_000)
const rounds = 3
/** Of each process; the first is for the compiler. */
const repeats = 3

const questions: readonly string[] = [
  'FROM Item RETURN COUNT()',
  'FROM Item WHERE number >= 0 RETURN COUNT()',
  'FROM Item RETURN SUM(number)',
  'FROM Item RETURN SUM(size)',
  'FROM Item RETURN MIN(size), MAX(size)',
  'FROM Item WHERE size > 1000 RETURN AVG(size)',
  "FROM Item WHERE name != 'none' RETURN COUNT()",
  'FROM Item GROUP BY day RETURN day, COUNT(), SUM(size)',
]

type EngineModule = typeof import('@ashlar/engine')

/** In microseconds an object, for each question. */
async function measureEngine(folder: string, data: string): Promise<number[]> {
  const entry = pathToFileURL(join(folder, 'packages/engine/dist/index.js')).href
  const { FederatedDatabase, openStore } = (await import(entry)) as EngineModule
  const fd = await FederatedDatabase.open({ alias: 'default', store: await openStore(`lmdb:${data}`) })
  const figures: number[] = []
  for (const text of questions) {
    const taken: number[] = []
    for (let i = 0; i <= repeats; i++) {
      const before = process.cpuUsage()
      const reply = await fd.query({ text })
      for await (const _chunk of reply.chunks) {
        // Only what it takes is of interest.
      }
      const { user, system } = process.cpuUsage(before)
      if (i > 0) taken.push((user + system) / objects)
    }
    figures.push(median(taken))
  }
  await fd.close()
  return figures
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((one, other) => one - other)[numbers.length >> 1] as number
}

function measureByTurns(folders: readonly string[], data: string): void {
  const taken = folders.map((): number[][] => [])
  for (let round = 0; round < rounds; round++) {
    for (const [i, folder] of folders.entries()) {
      const own = ['--import', 'tsx', import.meta.filename, '--data', data, '--engine', folder]
      taken[i]?.push(JSON.parse(execFileSync(process.execPath, own, { encoding: 'utf8' })) as number[])
    }
  }
  for (const [q, text] of questions.entries()) {
    const figures = taken.map((all) => median(all.map((figuresOfRound) => figuresOfRound[q] as number)).toFixed(2))
    process.stdout.write(`| \`${text}\` | ${figures.join(' | ')} |\n`)
  }
}

const options = {
  data: { type: 'string' },
  of: { type: 'string' },
  engine: { type: 'string' },
  memory: { type: 'string' },
} as const
const { values } = parseArgs({ options })
if (values.engine !== undefined) {
  process.stdout.write(JSON.stringify(await measureEngine(values.engine, values.data as string)))
} else {
  const own = values.data === undefined ? mkdtempSync(join(tmpdir(), 'ashlar-bench-')) : undefined
  const data = join(values.data ?? (own as string), 'default')
  try {
    if (!existsSync(data)) await fillItems(data, objects)
    const folders = [resolve(import.meta.dirname, '..'), ...(values.of === undefined ? [] : [resolve(values.of)])]
    if (values.memory === undefined) measureByTurns(folders, data)
    else await measureBeyondMemory(data, values.memory.split(',').map(Number), objects)
  } finally {
    if (own !== undefined) rmSync(own, { recursive: true, force: true })
  }
}
