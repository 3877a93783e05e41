/** The curves as pictures side by side: CPU of a request beside that of the reference column, over sizes that grow tenfold. */
import { type MeasuredCurve, ratioTo } from '../scale/curve.ts'

const colors = [
  '#1f6feb',
  '#57ab5a',
  '#c69026',
  '#e5534b',
  '#8250df',
  '#8c959f',
  '#1b7c83',
  '#bf3989',
  '#57606a',
  '#0a3069',
]
const panel = { width: 330, height: 150, left: 44, right: 150, gap: 46, top: 26 }
/** Of ratios; beyond it a line leaves the picture. */
const ratioMin = 0.5
const ratioMax = 4

export function scaleChart(curves: readonly MeasuredCurve[]): string {
  const shown = curves.filter(({ reference }) => reference !== undefined)
  const panels = shown.map((curve, nth) => panelOf(curve, panel.top + nth * (panel.height + panel.gap)))
  const width = panel.left + panel.width + panel.right
  const height = panel.top + shown.length * (panel.height + panel.gap)
  const style = `font-family="system-ui, sans-serif" font-size="11" fill="#57606a"`
  const title = '<title>CPU of a request beside that of the reference size</title>'
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ${style}>\n${title}\n${panels.join('\n')}\n</svg>\n`
}

function panelOf(curve: MeasuredCurve, top: number): string {
  const { title, axis, columns, lines, reference } = curve
  const x = (at: number): number => panel.left + (at / Math.max(1, columns.length - 1)) * panel.width
  const y = (ratio: number): number => {
    const share = Math.log(ratio / ratioMin) / Math.log(ratioMax / ratioMin)
    return top + panel.height * (1 - Math.min(1, Math.max(0, share)))
  }
  const grid = [0.5, 1, 2, 4].map((ratio) => {
    const line = `<line x1="${panel.left}" x2="${panel.left + panel.width}" y1="${fixed(y(ratio))}" y2="${fixed(y(ratio))}" stroke="#d0d7de"/>`
    return line + text(panel.left - 6, y(ratio) + 4, `${ratio} ×`, 'end')
  })
  const ticks = columns.map((column, at) => text(x(at), top + panel.height + 14, short(column), 'middle'))
  const drawn = lines.filter(({ figures }) => figures !== undefined)
  const paths = drawn.map((line, nth) => {
    const points = (line.figures ?? []).flatMap((one, at) => {
      const ratio = one === undefined || one === null ? undefined : ratioTo(line, one, reference)
      return ratio === undefined ? [] : [`${fixed(x(at))},${fixed(y(ratio))}`]
    })
    const color = colors[nth % colors.length]
    const path = `<polyline fill="none" stroke="${color}" stroke-width="1.5" points="${points.join(' ')}"/>`
    const [labelX, labelY] = [panel.left + panel.width + 10, top + 8 + nth * 14]
    const mark = `<rect x="${labelX}" y="${labelY - 8}" width="8" height="8" fill="${color}"/>`
    return path + mark + text(labelX + 12, labelY, line.name)
  })
  return [text(panel.left, top - 8, `${title}: CPU of a request by ${axis}`), ...grid, ...ticks, ...paths].join('\n')
}

function short(number: number): string {
  if (number >= 1_000_000) return `${number / 1_000_000}M`
  return number >= 1_000 ? `${number / 1_000}k` : String(number)
}

function fixed(value: number): string {
  return value.toFixed(1)
}

function text(x: number, y: number, content: string, anchor = 'start'): string {
  return `<text x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}">${content.replaceAll('&', '&amp;')}</text>`
}
