/** Writes a report: JSON and a chart in `bench/results`, and its section of `bench/RESULTS.md` or `bench/SCALE.md`. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Report } from '../parts/report.ts'
import { chartOf } from './chart.ts'
import { footprintTable, latencyTable, operationsTable, remarks } from './tables.ts'

const results = fileURLToPath(new URL('../results', import.meta.url))

/** The section without its chart, as it is printed as well. */
export function sectionOf(report: Report): string {
  const { date, commit, machine, conditions, generator } = report
  const isBound = Object.values(report.rows).some((row) =>
    Object.values(row).some(({ generatorBusy = 0 }) => generatorBusy > 0.9),
  )
  return [
    `${date}, commit ${commit}; ${machine}; load by ${generator}. ${conditions}`,
    operationsTable(report),
    ...(isBound
      ? ['\\* The core of the generator was more than 90 % busy: ratios of such figures are those of CPU a request.']
      : []),
    ...remarks(report),
    latencyTable(report),
    ...(Object.keys(report.footprints).length > 0 ? [footprintTable(report)] : []),
  ].join('\n\n')
}

export function writeReport(report: Report): void {
  writeResults(report.part, report, chartOf(report), sectionOf(report))
}

/** `section`: Markdown, to which the picture is added. `file`: the document in `bench` that has a place for it. */
export function writeResults(name: string, report: unknown, chart: string, section: string, file = 'RESULTS.md'): void {
  const document = fileURLToPath(new URL(`../${file}`, import.meta.url))
  mkdirSync(results, { recursive: true })
  writeFileSync(`${results}/${name}.json`, `${JSON.stringify(rounded(report), null, 2)}\n`)
  writeFileSync(`${results}/${name}.svg`, chart)
  const begin = `<!-- measured: ${name} -->`
  const end = `<!-- end of measured: ${name} -->`
  const before = readFileSync(document, 'utf8')
  const [from, to] = [before.indexOf(begin), before.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`bench/${file} has no place for "${name}": ${begin} … ${end}`)
  const whole = `${begin}\n\n${section}\n\n![chart](results/${name}.svg)\n\n`
  writeFileSync(document, before.slice(0, from) + whole + before.slice(to))
}

/** Four digits are more than two runs agree on. */
function rounded(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_key, one) => (typeof one === 'number' ? Number(one.toPrecision(4)) : one)))
}
