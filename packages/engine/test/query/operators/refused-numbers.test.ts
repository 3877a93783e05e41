/** Rows that are refused by their first value would be refused by their keys. */
import { describe, expect, it } from 'vitest'
import { type OrderPlan, RefusedNumbers } from '../../../src/query/evaluate/sort-key.ts'

const plan = (isDescending: boolean): OrderPlan => ({
  evaluate: () => null,
  write: () => undefined,
  isDescending,
  isAttribute: true,
})

describe('refused numbers', () => {
  it('refuse what is not better, in both directions', () => {
    for (const [isDescending, better, worse] of [
      [true, 6, 4],
      [false, 4, 6],
    ] as const) {
      const refused = new RefusedNumbers([plan(isDescending)])
      expect(refused.has(worse)).toBe(false)
      refused.add(5)
      refused.add(worse)
      expect([refused.has(worse), refused.has(5), refused.has(better)]).toEqual([true, true, false])
    }
  })

  it('leave equal numbers to the rest of the key, where there is one', () => {
    const refused = new RefusedNumbers([plan(true), plan(false)])
    refused.add(5)
    expect([refused.has(5), refused.has(4)]).toEqual([false, true])
  })

  it('leave zero, null and what is no number to the key', () => {
    const refused = new RefusedNumbers([plan(true)])
    for (const value of [0, -0, null, 'a', Number.NaN]) refused.add(value)
    expect(refused.has(-5)).toBe(false)
    refused.add(5)
    for (const value of [0, -0, null, 'a', Number.NaN, 1n]) expect(refused.has(value)).toBe(false)
  })
})
