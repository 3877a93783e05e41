/** `npm run bench`: measures Ashlar beside what one would use instead; bench/README.md describes its forms. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { compiledFile } from '../tools/compile-lmdb.mjs'
import { openGenerator, openSocketGenerator } from './load/generators.ts'
import { machineName, takeCores } from './machine.ts'
import { measureChanges } from './parts/changes.ts'
import { measureEmbedded } from './parts/embedded.ts'
import type { KindsOptions, Measured } from './parts/measure-kinds.ts'
import { measurePostgres } from './parts/postgres.ts'
import type { Report } from './parts/report.ts'
import { changesSince, type HistoryEntry, keepEntry, noteRun, readHistory } from './report/history.ts'
import { sectionOf, writeReport } from './report/results-file.ts'
import type { Bench } from './rows/measure.ts'
import { rows } from './rows/rows.ts'

interface Words {
  readonly short?: true
  readonly postgres?: true
  readonly changes?: true
  readonly keep?: true
  readonly seconds?: string
  readonly rounds?: string
  readonly objects?: string
  readonly only?: string
}

interface Form extends KindsOptions {
  readonly objects: number
}

const full: Form = {
  rounds: 3,
  seconds: 7,
  warmSeconds: 2,
  objects: 100_000,
  scanObjects: 1_000_000,
  idleSeconds: 10,
  only: [],
}
const postgres: Form = { ...full, seconds: 5, scanObjects: full.objects }
/** Too short for wrk. */
const short: Form = {
  rounds: 1,
  seconds: 0.9,
  warmSeconds: 0.3,
  objects: 20_000,
  scanObjects: 20_000,
  idleSeconds: 1,
  only: [],
}

const command = new Command('npm run bench --')
  .option('--short', 'less of everything, under a minute; prints, and writes nothing')
  .option('--postgres', 'Ashlar on PostgreSQL beside SQL written by hand')
  .option('--changes', 'CPU a request beside that of a bare node:http, against the last entry of bench/history.json')
  .option('--keep', 'with --changes: adds an entry to bench/history.json')
  .option('--seconds <number>', 'of a run')
  .option('--rounds <number>', 'runs of which the median counts')
  .option('--objects <number>', 'in each store')
  .option('--only <rows>', 'names of rows, with commas; prints, and writes nothing')
const words = command.parse().opts<Words>()
const cores = takeCores()
const date = new Date().toISOString().slice(0, 10)
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
if (words.changes) await showChanges()
else await runPart()

async function runPart(): Promise<void> {
  const part = words.postgres ? 'postgres' : 'embedded'
  const form = formOf(part)
  const bench: Bench = { generator: openGenerator(form.seconds), cores }
  try {
    const report = reportOf(part, form, bench, await measurePart(part, bench, form))
    process.stdout.write(`\n${sectionOf(report)}\n`)
    if (!words.short && words.only === undefined) writeReport(report)
  } finally {
    await bench.generator.close()
  }
}

type Part = 'embedded' | 'postgres'

async function measurePart(
  part: Part,
  bench: Bench,
  form: Form,
): Promise<Measured & { skipped?: Record<string, string> }> {
  return part === 'embedded' ? measureEmbedded(bench, form.objects, form) : measurePostgres(bench, form.objects, form)
}

function formOf(part: Part): Form {
  const { seconds, rounds, objects, only } = words
  const form = words.short ? short : { embedded: full, postgres }[part]
  const wanted = objects === undefined ? form.objects : Number(objects)
  return {
    ...form,
    ...(seconds === undefined ? {} : { seconds: Number(seconds) }),
    ...(rounds === undefined ? {} : { rounds: Number(rounds) }),
    ...(only === undefined ? {} : { only: rowsNamed(only) }),
    objects: wanted,
    // Where stores are scanned as they are, or as many times as large.
    scanObjects: (form.scanObjects / form.objects) * wanted,
  }
}

function rowsNamed(list: string): string[] {
  const known = ['bulk', 'bulk-ndjson', 'scan', ...rows.map(({ name }) => name)]
  const unknown = list.split(',').find((name) => !known.includes(name))
  if (unknown !== undefined) throw new Error(`there is no row "${unknown}", but ${known.join(', ')}`)
  return list.split(',')
}

function reportOf(
  part: Part,
  form: Form,
  bench: Bench,
  measured: Measured & { skipped?: Record<string, string> },
): Report {
  const { objects, scanObjects, seconds, rounds } = form
  const pinned =
    cores === undefined
      ? 'no cores of their own'
      : `server on core ${cores.server}, generator on core ${cores.generator}`
  const count = (number: number): string => number.toLocaleString('en')
  const sizes = `${count(objects)} vehicles, ${count(scanObjects)} where all are scanned`
  return {
    part,
    date,
    commit,
    machine: machineName(),
    generator: bench.generator.name,
    conditions: `${sizes}; median of ${rounds} runs of ${seconds} s; ${pinned}; request log off${ownLmdb()}.`,
    skipped: {},
    ...measured,
  }
}

/** Which binary of LMDB each had. */
function ownLmdb(): string {
  if (!existsSync(compiledFile('.'))) return '; LMDB as npm installs it'
  return process.env.BENCH_LMDB === 'compiled'
    ? '; LMDB compiled for both'
    : '; LMDB compiled for Ashlar, by hand from npm'
}

async function showChanges(): Promise<void> {
  const bench: Bench = { generator: openSocketGenerator(), cores }
  try {
    const entry: HistoryEntry = { date, commit, machine: machineName(), ratios: await measureChanges(bench) }
    process.stdout.write(`\n${changesSince(readHistory().at(-1), entry)}\n`)
    noteRun(entry)
    if (words.keep) keepEntry(entry)
  } finally {
    await bench.generator.close()
  }
}
