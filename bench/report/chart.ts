/** The operations of a report as a picture: a bar for each contender, as long as it is fast beside the fastest of the row. */
import type { Report } from '../parts/report.ts'
import { ratioOf } from '../rows/figures.ts'
import { namesOf, operationRows } from './tables.ts'

const colors = ['#1f6feb', '#8c959f', '#c69026', '#57ab5a']
const barHeight = 12
const rowGap = 14
const labelWidth = 190
const barWidth = 440
const top = 34

export function chartOf(report: Report): string {
  const names = namesOf(report)
  const legend = names.map((name, nth) => {
    const x = labelWidth + nth * 170
    return `<rect x="${x}" y="8" width="10" height="10" fill="${colorOf(nth)}"/>${text(x + 14, 17, name)}`
  })
  const pieces: string[] = []
  let y = top
  for (const [row, figures] of operationRows(report)) {
    const present = names.flatMap((name, nth) => (figures[name] === undefined ? [] : [{ nth, one: figures[name] }]))
    const [first] = present
    if (first === undefined) continue
    const speeds = present.map(({ one }) => ratioOf(one, first.one))
    const fastest = Math.max(...speeds)
    pieces.push(text(labelWidth - 8, y + barHeight - 2, row, 'end'))
    for (const [place, { nth, one }] of present.entries()) {
      const width = ((speeds[place] ?? 0) / fastest) * barWidth
      pieces.push(
        `<rect x="${labelWidth}" y="${y}" width="${width.toFixed(1)}" height="${barHeight - 2}" fill="${colorOf(nth)}"/>`,
      )
      pieces.push(
        text(labelWidth + width + 6, y + barHeight - 3, `${Math.round(one.perSecond).toLocaleString('en')}/s`),
      )
      y += barHeight
    }
    y += rowGap
  }
  const size = `width="${labelWidth + barWidth + 90}" height="${y}"`
  const style = `font-family="system-ui, sans-serif" font-size="11" fill="#57606a"`
  const title = `<title>Requests or objects a second: ${names.join(', ')}</title>`
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${style}>\n${title}\n${[...legend, ...pieces].join('\n')}\n</svg>\n`
}

function colorOf(nth: number): string {
  return colors[nth % colors.length] as string
}

function text(x: number, y: number, content: string, anchor = 'start'): string {
  return `<text x="${x.toFixed(1)}" y="${y}" text-anchor="${anchor}">${content.replaceAll('&', '&amp;')}</text>`
}
