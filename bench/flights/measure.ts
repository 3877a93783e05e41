/** Prints what questions to the flights touch, and their CPU time beside that of SQLite. */
import type { ChildServer } from '../child-server.ts'
import { type Sqlite, sqliteDriver } from '../servers/sqlite-driver.ts'
import { plannerQuestions } from './planner-questions.ts'
import { questions } from './questions.ts'

interface AnalyzedPlan {
  readonly operator: string
  readonly examined: number
  readonly objectsRead: number
  readonly linksRead: number
  readonly entriesCounted?: number
  readonly inputs?: readonly AnalyzedPlan[]
}

type Row = Readonly<Record<string, unknown>>

/** Entries, objects or links, whichever are most, and the entries that were counted for estimates. */
export async function printTouched(server: ChildServer): Promise<void> {
  print('| | touched | least | counted for estimates | CPU ms |')
  print('|---|--:|--:|--:|--:|')
  for (const { question, text, least } of plannerQuestions) {
    const [plan] = (await ask(server, `EXPLAIN ANALYZE ${text}`)) as unknown as [AnalyzedPlan]
    const touched = Math.max(examinedAtLeaves(plan), plan.objectsRead, plan.linksRead)
    const { cpuMs } = await cpuOf(server, text)
    const figures = [touched, await numberOf(server, least), plan.entriesCounted ?? 0].map(shown)
    print(`| ${question}: \`${text}\` | ${figures.join(' | ')} | ${shown(cpuMs)} |`)
  }
}

async function numberOf(server: ChildServer, least: number | readonly string[]): Promise<number> {
  if (typeof least === 'number') return least
  let sum = 0
  for (const text of least) sum += Number((await ask(server, text))[0]?.n)
  return sum
}

/** An order that is tried is looked at beside what is sorted in its stead. */
function examinedAtLeaves({ operator, examined, inputs = [] }: AnalyzedPlan): number {
  const below = inputs.reduce((sum, input) => sum + examinedAtLeaves(input), 0)
  return inputs.length === 0 || operator === 'orderedIndexScan' ? examined + below : below
}

export async function printBesideSqlite(server: ChildServer, sqlite: Sqlite): Promise<void> {
  print(`| | DO, CPU ms | SQLite (${sqliteDriver}), CPU ms | ÷ SQLite |`)
  print('|---|--:|--:|--:|')
  for (const { question, text, sql } of questions) {
    const asked = await cpuOf(server, text)
    const beside = cpuOfSqlite(sqlite, sql)
    if (summary(asked.rows) !== summary(beside.rows)) {
      print(`${question}: ${summary(asked.rows)}, but SQLite has ${summary(beside.rows)}`)
      process.exitCode = 1
    }
    const ratio = asked.cpuMs / beside.cpuMs
    print(`| ${question} | ${shown(asked.cpuMs)} | ${shown(beside.cpuMs)} | ${shown(ratio)} |`)
  }
}

/** How many rows there are, and the sum of what is counted. */
function summary(rows: readonly Row[]): string {
  return `${rows.length} rows, n ${rows.reduce((sum, { n }) => sum + Number(n ?? 0), 0)}`
}

const measuredMs = 600
const runsMin = 2
const runsMax = 400

interface Measured {
  readonly cpuMs: number
  readonly rows: readonly Row[]
}

/** Of the server, after one that is not measured. */
async function cpuOf(server: ChildServer, text: string): Promise<Measured> {
  const rows = await ask(server, text)
  const end = performance.now() + measuredMs
  const before = server.cpuSeconds()
  let runs = 0
  for (; runs < runsMin || (runs < runsMax && performance.now() < end); runs++) await ask(server, text)
  return { cpuMs: ((server.cpuSeconds() - before) / runs) * 1_000, rows }
}

function cpuOfSqlite(sqlite: Sqlite, sql: string): Measured {
  const statement = sqlite.prepare(sql)
  const rows = statement.all() as Row[]
  const end = performance.now() + measuredMs
  const before = process.cpuUsage()
  let runs = 0
  for (; runs < runsMin || (runs < runsMax && performance.now() < end); runs++) statement.all()
  const { user, system } = process.cpuUsage(before)
  return { cpuMs: (user + system) / 1_000 / runs, rows }
}

async function ask({ url }: ChildServer, body: string): Promise<Row[]> {
  const reply = await fetch(`${url}/v1/query`, { method: 'POST', headers: { 'content-type': 'text/plain' }, body })
  const rows = (await reply.json()) as Row[]
  if (!reply.ok) throw new Error(`${body}: ${JSON.stringify(rows)}`)
  return rows
}

function shown(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return value >= 10 ? value.toFixed(1) : String(Number(value.toPrecision(2)))
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
