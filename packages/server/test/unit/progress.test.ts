/** What is shown of long work on a terminal. */
import { expect, it } from 'vitest'
import { barText } from '../../src/cli/progress.ts'

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
