/** How requests of callers are counted by the second. */
import { expect, it } from 'vitest'
import { RequestRates } from '../../src/http/request-rates.ts'
import { countedCallersMax } from '../../src/limits.ts'

function ratesOf(perSecondMax: number) {
  const clock = { ms: 1_000 }
  const rates = new RequestRates(perSecondMax, () => clock.ms)
  /** How many of so many requests are let in. */
  const letIn = (caller: string, requests: number): number => {
    let count = 0
    for (let request = 0; request < requests; request++) {
      try {
        rates.count(caller)
        count++
      } catch (error) {
        expect(error).toMatchObject({ type: 'TooManyRequests' })
      }
    }
    return count
  }
  return { clock, rates, letIn }
}

it.each([1, 2, 3, 7, 10, 1_000])('lets in %i at once, and as many in each second', (perSecondMax) => {
  const { clock, letIn } = ratesOf(perSecondMax)
  expect(letIn('a', perSecondMax + 5)).toBe(perSecondMax)
  clock.ms += 1_000 / perSecondMax
  expect(letIn('a', 2)).toBe(1)
  clock.ms += 500
  const half = letIn('a', perSecondMax)
  expect(half).toBeLessThanOrEqual(Math.ceil(perSecondMax / 2))
  clock.ms += 100_000
  expect(letIn('a', perSecondMax + 5)).toBe(perSecondMax)
})

it('counts each caller for itself, and keeps nobody who has not asked for two seconds', () => {
  const { clock, rates, letIn } = ratesOf(5)
  for (let caller = 0; caller < 100; caller++) expect(letIn(String(caller), 6)).toBe(5)
  clock.ms += 999
  expect(letIn('0', 6)).toBe(4)
  clock.ms += 1
  expect(letIn('0', 6)).toBe(1)
  clock.ms += 1_000
  letIn('0', 1)
  clock.ms += 1_000
  letIn('0', 1)
  expect(rates.size).toBeLessThanOrEqual(2)
})

it('keeps no more callers than it may, however many ask within a second', () => {
  const { rates } = ratesOf(5)
  for (let caller = 0; caller < 3 * countedCallersMax; caller++) rates.count(String(caller))
  expect(rates.size).toBeLessThanOrEqual(2 * countedCallersMax)
})
