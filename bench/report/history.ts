/** What earlier builds cost beside a bare `node:http`, and what has changed since; kept in `bench/history.json`, whose last entry is the reference. */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export interface HistoryEntry {
  readonly date: string
  readonly commit: string
  readonly machine: string
  /** By row. */
  readonly ratios: Readonly<Record<string, number>>
}

const kept = fileURLToPath(new URL('../history.json', import.meta.url))
/** Of this machine alone: for a runner to keep. */
const runs = fileURLToPath(new URL('../out/', import.meta.url))

/** A change of more than this is pointed out. */
const changeMax = 0.15

export function readHistory(): HistoryEntry[] {
  return JSON.parse(readFileSync(kept, 'utf8')) as HistoryEntry[]
}

/** To be committed with the change that the entry is measured after. */
export function keepEntry(entry: HistoryEntry): void {
  writeFileSync(kept, `${JSON.stringify([...readHistory(), entry], null, 2)}\n`)
}

/** A line of JSON in `bench/out/history.jsonl`. */
export function noteRun(entry: HistoryEntry): void {
  mkdirSync(runs, { recursive: true })
  appendFileSync(`${runs}/history.jsonl`, `${JSON.stringify(entry)}\n`)
}

/** A line a row, with a mark where it changed by more than 15 %. */
export function changesSince(reference: HistoryEntry | undefined, now: HistoryEntry): string {
  const lines = Object.entries(now.ratios).map(([row, ratio]) => {
    const before = reference?.ratios[row]
    if (before === undefined) return `${row.padEnd(30)} ${ratio.toFixed(2).padStart(8)}`
    const change = ratio / before - 1
    const mark = change > changeMax ? '  DEARER' : change < -changeMax ? '  cheaper' : ''
    const percent = `${change >= 0 ? '+' : ''}${(change * 100).toFixed(0)} %`
    return `${row.padEnd(30)} ${ratio.toFixed(2).padStart(8)}  before ${before.toFixed(2).padStart(8)}  ${percent.padStart(6)}${mark}`
  })
  const since = reference === undefined ? 'nothing to compare with' : `since ${reference.commit} of ${reference.date}`
  return [`CPU a request ÷ that of a constant reply of node:http, ${since}:`, ...lines].join('\n')
}
