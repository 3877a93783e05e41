/** What the runner of the tests adds to vitest's own. */
import fc from 'fast-check'
import { expect, it } from 'vitest'

it('a property is ended before the time of its test is over, so that what failed is told', () => {
  expect(fc.readConfigureGlobal()).toEqual({ interruptAfterTimeLimit: 30_000, markInterruptAsFailure: true })
}, 40_000)

it('a property of a test without a limit has none', () => {
  expect(fc.readConfigureGlobal()).toEqual({})
}, 0)
