/** What is shown of long work: a bar on a terminal, lines elsewhere. */
import { expect, it } from 'vitest'
import { barText, ProgressLine, StepProgress } from '../../src/output/progress.ts'

it.each([
  [
    { done: 700, total: 2_500, rate: 350 },
    `[${'='.repeat(11)}${'-'.repeat(29)}] 28 % · 700 of 2,500 bytes · 350/s · 6 s left`,
  ],
  [{ done: 1, total: 4_000, rate: 1 }, `[${'-'.repeat(40)}] 0 % · 1 of 4,000 bytes · 1/s · 1 h 6 min left`],
  [{ done: 10, total: 100, rate: 1 }, `[====${'-'.repeat(36)}] 10 % · 10 of 100 bytes · 1/s · 1 min 30 s left`],
  [{ done: 0, total: 9, rate: 0 }, `[${'-'.repeat(40)}] 0 % · 0 of 9 bytes · 0/s`],
  [{ done: 9, total: 9, rate: 3 }, `[${'='.repeat(40)}] 100 % · 9 of 9 bytes · 3/s`],
  [{ done: 0, total: 0, rate: 0 }, `[${'='.repeat(40)}] 100 % · 0 of 0 bytes · 0/s`],
  [{ done: 1_200, total: undefined, rate: 600.4 }, '1,200 bytes · 600/s'],
])('%j', (state, text) => {
  expect(barText({ ...state, unit: 'bytes' })).toBe(text)
})

/** No terminal, with a clock of its own. */
function recorded() {
  const lines: string[] = []
  const clock = { ms: 0 }
  const stream = { isTTY: false, write: (line: string) => lines.push(line) > 0 }
  return { lines, clock, options: { isQuiet: false, stream, now: () => clock.ms } }
}

it('where there is no terminal, a line each 5 seconds and one at the end tell how far it is', () => {
  const { lines, clock, options } = recorded()
  const progress = new ProgressLine({ ...options, unit: 'bytes' })
  for (const [ms, done] of [
    [1_000, 100],
    [5_000, 500],
    [6_000, 600],
    [10_000, 1_000],
    [11_000, 2_200],
  ] as const) {
    clock.ms = ms
    progress.update(done, 2_200)
  }
  progress.stop()
  expect(lines).toEqual([
    '500 of 2,200 bytes, 100/s, 17 s left\n',
    '1,000 of 2,200 bytes, 100/s, 12 s left\n',
    '2,200 of 2,200 bytes, 200/s\n',
  ])
})

it('of work that is done before the first line is due, nothing is told', () => {
  const { lines, clock, options } = recorded()
  const progress = new ProgressLine({ ...options, unit: 'bytes' })
  clock.ms = 4_999
  progress.update(7)
  progress.stop()
  expect(lines).toEqual([])
})

it('each step has lines of its own', () => {
  const { lines, clock, options } = recorded()
  const progress = new StepProgress(options)
  progress.update('copying', 0, 10)
  clock.ms = 5_000
  progress.update('copying', 10, 10)
  clock.ms = 9_000
  progress.update('comparing', 5, 10)
  clock.ms = 14_000
  progress.update('comparing', 7, 10)
  clock.ms = 15_000
  progress.update('comparing', 10, 10)
  progress.stop()
  progress.stop()
  expect(lines).toEqual([
    '10 of 10 entries copied, 2/s\n',
    '7 of 10 entries compared, 1/s, 3 s left\n',
    '10 of 10 entries compared, 2/s\n',
  ])
})
