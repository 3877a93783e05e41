/** The figures of a report as tables of Markdown. */
import type { Report } from '../parts/report.ts'
import type { RowFigures } from '../parts/run-rows.ts'
import { type Figures, isGeneratorBound, ratioOf } from '../rows/figures.ts'

/** What limits any server has a row of its own, and no column. */
const limitRow = 'constant reply'
const logRow = 'read, request log on'

/** Rows whose figures are of objects. */
const ofObjects = ['bulk', 'bulk-ndjson', 'scan']

/** What others have in one form alone, with which both of ours are compared. */
const comparedWith: Readonly<Record<string, string>> = { 'equality-in-text': 'equality', 'bulk-ndjson': 'bulk' }

export function namesOf({ rows }: Report): string[] {
  const names = Object.entries(rows).flatMap(([row, figures]) =>
    row === limitRow || row === logRow ? [] : Object.keys(figures),
  )
  return [...new Set(names)]
}

/** The operations, those of the first name against the others. */
export function operationsTable(report: Report): string {
  const [ours = '', ...others] = namesOf(report)
  const head = ['', ours, ...others, ...others.map((name) => `÷ ${name}`)]
  const lines = operationRows(report).map(([row, figures]) => {
    const own = figures[ours]
    const cells = [ours, ...others].map((name) => speed(figures[name]))
    const other = comparedWith[row]
    const against = other === undefined ? figures : (report.rows[other] ?? {})
    const ratios = others.map((name) => ratio(own, against[name]))
    return [ofObjects.includes(row) ? `${row} (objects)` : row, ...cells, ...ratios]
  })
  return table(head, lines)
}

/** Milliseconds: the median and the last hundredth. */
export function latencyTable(report: Report): string {
  const names = namesOf(report)
  const [ours = '', ...others] = names
  const lines = operationRows(report)
    .filter(([row]) => !ofObjects.includes(row))
    .map(([row, figures]) => {
      const own = figures[ours]
      const ratios = others.map((name) => {
        const other = figures[name]
        return own === undefined || other === undefined ? '' : shown(own.p99Ms / other.p99Ms, 2)
      })
      return [row, ...names.map((name) => latency(figures[name])), ...ratios]
    })
  return table(['ms, p50 · p99', ...names, ...others.map((name) => `p99 ÷ ${name}`)], lines)
}

export function footprintTable({ footprints }: Report): string {
  const lines = Object.entries(footprints).map(([name, one]) => {
    const { startCpuSeconds, idleResident, idleOncePerPage, idleProportional, idleOwn, peakOwn, disk } = one
    const memory = [idleResident, idleOncePerPage, idleProportional, idleOwn, peakOwn].map((mib) => `${mib ?? ''}`)
    const start = startCpuSeconds === undefined ? '' : shown(startCpuSeconds, 2)
    return [name, start, ...memory, disk === undefined ? '' : shown(disk, 1)]
  })
  const head = [
    '',
    'CPU s to the first answer',
    'idle RSS',
    'idle, each page once',
    'idle PSS',
    'idle RssAnon',
    'peak RssAnon',
    'disk MiB',
  ]
  return table(head, lines)
}

/** What there is beside the tables: the limits, the log, and rows that have refused something. */
export function remarks({ rows, skipped }: Report): string[] {
  const found: string[] = []
  const limits = Object.entries(rows[limitRow] ?? {}).map(([name, figures]) => `${name} ${speed(figures)}`)
  if (limits.length > 0) found.push(`Constant reply, which limits any server: ${limits.join('; ')}.`)
  const [off, on] = Object.values(rows[logRow] ?? {})
  if (off !== undefined && on !== undefined) {
    const more = on.cpuMicroseconds - off.cpuMicroseconds
    const both = `${shown(on.cpuMicroseconds, 1)} µs with it, ${shown(off.cpuMicroseconds, 1)} without`
    // The two are measured one after the other, and what others do on the machine may outweigh it.
    found.push(
      more > 0
        ? `The request log costs ${shown(more, 1)} µs of CPU a read (${both}).`
        : `What the request log costs is lost in the noise of this run (${both}).`,
    )
  }
  for (const [row, figures] of Object.entries(rows)) {
    for (const [name, { refused }] of Object.entries(figures)) {
      if (refused > 0) found.push(`${name} has refused ${refused} requests of "${row}".`)
    }
  }
  for (const [name, reason] of Object.entries(skipped)) found.push(`Without ${name}: ${reason}.`)
  return found
}

export function operationRows({ rows }: Report): [string, RowFigures][] {
  return Object.entries(rows).filter(([row]) => row !== limitRow && row !== logRow)
}

function speed(figures: Figures | undefined): string {
  if (figures === undefined) return ''
  const { perSecond, cpuMicroseconds } = figures
  const mark = isGeneratorBound(figures) ? ' \\*' : ''
  return `${Math.round(perSecond).toLocaleString('en')} · ${shown(cpuMicroseconds, cpuMicroseconds < 10 ? 2 : 1)} µs${mark}`
}

function ratio(own: Figures | undefined, other: Figures | undefined): string {
  return own === undefined || other === undefined ? '' : shown(ratioOf(own, other), 2)
}

function latency(figures: Figures | undefined): string {
  return figures === undefined ? '' : `${shown(figures.p50Ms, 1)} · ${shown(figures.p99Ms, 1)}`
}

export function shown(value: number, digits: number): string {
  return Number.isFinite(value) ? value.toFixed(digits) : '–'
}

export function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(head), `|---|${'--:|'.repeat(head.length - 1)}`, ...lines.map(line)].join('\n')
}
