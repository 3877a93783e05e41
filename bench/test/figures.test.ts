/** The rule of ratios, medians, and what is pointed out as changed. */
import { describe, expect, it } from 'vitest'
import { changesSince, type HistoryEntry } from '../report/history.ts'
import { operationsTable } from '../report/tables.ts'
import { type Figures, medianOf, ratioOf } from '../rows/figures.ts'

function figures(perSecond: number, cpuMicroseconds: number, more: Partial<Figures> = {}): Figures {
  return { perSecond, cpuMicroseconds, p50Ms: 1, p99Ms: 2, refused: 0, ...more }
}

describe('A ratio', () => {
  it('is that of requests per second', () => {
    expect(ratioOf(figures(300, 10), figures(100, 20))).toBe(3)
  })

  it('is that of CPU a request, inverted, where the core of the generator was more than 90 % busy for one of the two', () => {
    const bound = figures(300, 10, { generatorBusy: 0.91 })
    expect(ratioOf(bound, figures(100, 20))).toBe(2)
    expect(ratioOf(figures(100, 20), bound)).toBe(0.5)
    expect(ratioOf(figures(300, 10, { generatorBusy: 0.9 }), figures(100, 20))).toBe(3)
  })

  it('of a value in the text is against what the others do with a parameter', () => {
    const rows = {
      equality: { Ashlar: figures(50, 20), other: figures(100, 10) },
      'equality-in-text': { Ashlar: figures(25, 40) },
    }
    const conditions = { part: 'p', date: 'd', commit: 'c', machine: 'm', generator: 'g', conditions: '' }
    const lines = operationsTable({ ...conditions, rows, footprints: {}, skipped: {} }).split('\n')
    expect(lines.map((line) => line.split('|').at(-2)?.trim())).toEqual(['÷ other', '--:', '0.50', '0.25'])
  })
})

describe('The median of runs', () => {
  it('is that of each figure by itself, and counts all that was refused', () => {
    const runs = [figures(1, 30, { refused: 1 }), figures(3, 10), figures(2, 20, { refused: 2 })]
    expect(medianOf(runs)).toEqual(figures(2, 20, { refused: 3 }))
  })
})

describe('The changes since the last entry of the history', () => {
  const entry = (ratios: Record<string, number>): HistoryEntry => ({ date: 'd', commit: 'c', machine: 'm', ratios })

  it('are marked from 15 % on, in both directions', () => {
    const now = entry({ read: 1.16, update: 1.14, create: 0.84, delete: 0.86, scan: 1 })
    const before = entry({ read: 1, update: 1, create: 1, delete: 1 })
    const [, ...lines] = changesSince(before, now).split('\n')
    expect(lines.map((line) => /(DEARER|cheaper)$/.exec(line)?.[0])).toEqual([
      'DEARER',
      undefined,
      'cheaper',
      undefined,
      undefined,
    ])
  })
})
