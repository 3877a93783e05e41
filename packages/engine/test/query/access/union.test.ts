/** OR, where each side has an access path. */
import { describe, expect, vi } from 'vitest'
import { Compiler } from '../../../src/query/evaluate/compile-expression.ts'
import { find, touched } from '../plans.ts'
import { airlineTests } from './airline.ts'

const plannerTest = airlineTests(400)

describe('several predicates', () => {
  plannerTest('OR with two sides indexed reads both, each object once', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE number = 7 OR route.gate = 7 RETURN *')
    const union = find(plan, 'union')
    expect(union.inputs?.map(({ index, examined }) => [index, examined])).toEqual([
      ['flightNumber', 1],
      ['flightGate', 8],
    ])
    expect(plan.returned).toBe(8)
  })

  plannerTest('OR within AND', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE plain >= 0 AND (number = 7 OR number = 8) RETURN *')
    expect([touched(plan), plan.returned]).toEqual([2, 2])
  })
})

describe('thousands of predicates', () => {
  const any = (count: number, predicateOf: (i: number) => string, word = 'OR'): string => {
    return `(${Array.from({ length: count }, (_, i) => predicateOf(i)).join(` ${word} `)})`
  }
  const carrier = (i: number): string => `carrierCode = 'c${i}'`
  const seats = (i: number): string => `seats = ${i}`
  const forms: Record<string, (count: number) => string> = {
    'one OR': (count) => any(count, carrier),
    'several ORs': (count) => `${any(count, carrier)} AND ${any(count, seats)}`,
    'an OR beside many others': (count) => `${any(count, carrier)} AND ${any(count, seats, 'AND')}`,
    'an OR in each part': (count) => any(count / 10, () => `(seats < 7 AND ${any(10, carrier)})`),
    references: (count) => any(count, (i) => `destination = 1-1-1-${i}`, 'AND'),
  }
  for (const [name, where] of Object.entries(forms)) {
    plannerTest(`${name}: what is compiled grows as the text does`, async (db) => {
      const compiledFor = async (count: number): Promise<number> => {
        const compile = vi.spyOn(Compiler.prototype, 'compile')
        await db.analyze(`FROM Flight WHERE ${where(count)} RETURN number`)
        const { length } = compile.mock.calls
        compile.mockRestore()
        return length
      }
      const [few, many] = [await compiledFor(100), await compiledFor(400)]
      expect(few).toBeGreaterThan(100)
      expect(many).toBeLessThan(5 * few)
    })
  }

  plannerTest('an OR of many predicates finds what one of few does', async (db) => {
    const plan = await db.analyze(
      `FROM Flight WHERE plain >= 0 AND ${any(17, (i) => `carrierCode = 'c${i}'`)} RETURN *`,
    )
    const few = await db.analyze(`FROM Flight WHERE plain >= 0 AND ${any(3, (i) => `carrierCode = 'c${i}'`)} RETURN *`)
    expect([find(few, 'union').inputs?.length, few.returned]).toEqual([3, 60])
    expect(plan.returned).toBe(343)
  })
})
