/** The curves of `npm run bench:scale`: kept as JSON, each with its own date, and shown as tables and a picture. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Figures } from '../rows/figures.ts'
import { type Line, type MeasuredCurve, ratioTo } from '../scale/curve.ts'
import { writeResults } from './results-file.ts'
import { scaleChart } from './scale-chart.ts'
import { shown, table } from './tables.ts'

const file = fileURLToPath(new URL('../results/scale.json', import.meta.url))
/** Above this, what is told in wall-clock time is not what the server can do. */
const othersBusyMax = 0.1

/** Curves that were measured earlier, in the order in which they first were. */
export function readScaleReport(): MeasuredCurve[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as MeasuredCurve[]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** These take the place of earlier ones of their names; the others stay. */
export function writeScaleReport(curves: readonly MeasuredCurve[]): void {
  const all = new Map([...readScaleReport(), ...curves].map((curve) => [curve.name, curve]))
  const report = [...all.values()]
  writeResults('scale', report, scaleChart(report), scaleSection(report), 'SCALE.md')
}

export function scaleSection(curves: readonly MeasuredCurve[]): string {
  return curves.map(curveSection).join('\n\n')
}

function curveSection(curve: MeasuredCurve): string {
  const { title, date, commit, machine, rounds, othersBusy, notes } = curve
  const busy =
    othersBusy > othersBusyMax
      ? ` **Busy machine**: others used ${shown(100 * othersBusy, 0)} % of the cores; figures in seconds, milliseconds or requests/s are not reliable.`
      : ''
  return [
    `### ${title}`,
    `${date}, commit ${commit}; ${machine}; median of ${rounds} runs.${busy}`,
    tableOf(curve),
    ...notes,
  ].join('\n\n')
}

/** CPU µs a request and its ratio to the reference; requests/s; where clients wait, p50 and p99. Bold: beyond what it may be. */
function tableOf(curve: MeasuredCurve): string {
  const { axis, columns, reference, lines, hasLatencies } = curve
  const of = (figures: Figures, line: Line): string => {
    const ratio = ratioTo(line, figures, reference)
    const cpu = `${shown(figures.cpuMicroseconds, figures.cpuMicroseconds < 10 ? 2 : 1)} µs`
    const compared = ratio === undefined ? '' : ` · ${marked(`${shown(ratio, 2)} ×`, ratio, line.most)}`
    const latency = hasLatencies === true ? ` · ${shown(figures.p50Ms, 1)} / ${shown(figures.p99Ms, 1)} ms` : ''
    return `${cpu}${compared} · ${Math.round(figures.perSecond).toLocaleString('en')}/s${latency}`
  }
  const body = lines.map((line) => {
    const cells = columns.map((_column, at) => {
      const figures = line.figures?.[at]
      if (figures !== undefined && figures !== null) return of(figures, line)
      const value = line.values?.[at]
      if (value === undefined || value === null) return ''
      return marked(`${shown(value, value < 10 ? 2 : 0)} ${line.unit ?? ''}`.trim(), value, line.most)
    })
    return [line.name, ...cells]
  })
  return table([axis, ...columns.map((column) => column.toLocaleString('en'))], body)
}

function marked(text: string, value: number, most: number | undefined): string {
  return most !== undefined && value > most ? `**${text}**` : text
}
