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
  const carrier = (i: number): string => `(carrierCode = 'c${i}' AND seats >= 0)`
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

  plannerTest('an OR of many values for one attribute is one access, and finds what IN does', async (db) => {
    const values = [...Array.from({ length: 16 }, (_, i) => `'c${i}'`), "'c3'", "'none'"]
    const asked = any(values.length, (i) => (i % 2 === 0 ? `carrierCode = ${values[i]}` : `${values[i]} = carrierCode`))
    const plan = await db.analyze(`FROM Flight WHERE plain >= 0 AND ${asked} RETURN *`)
    const listed = await db.analyze(`FROM Flight WHERE plain >= 0 AND carrierCode IN (${values.join()}) RETURN *`)
    expect(find(plan, 'indexScan').index).toBe('flightCarrierSeats')
    expect([touched(plan), plan.returned]).toEqual([touched(listed), listed.returned])
    expect(plan.returned).toBe(323)
  })

  plannerTest('an OR of many values of several types or attributes finds what each of them does', async (db) => {
    const numbers = any(20, (i) => `number = ${i % 2 === 0 ? i : `${i}.0`}`)
    const gates = any(20, (i) => `${i % 2 === 0 ? 'number' : 'route.gate'} = ${i}`)
    const count = async (where: string): Promise<unknown> =>
      (await db.rows(`FROM Flight WHERE ${where} RETURN COUNT() AS c`))[0]
    expect(await count(numbers)).toEqual({ c: 20 })
    expect(await count(gates)).toEqual({ c: 90 })
    expect(await count(any(20, () => 'number = 7'))).toEqual({ c: 1 })
  })

  plannerTest('an OR of many OIDs finds each object once', async (db) => {
    const oids = (await db.rows('FROM Flight WHERE number < 5 RETURN $$ID AS oid')).map(({ oid }) => oid)
    const plan = await db.analyze(`FROM Flight WHERE ${any(20, (i) => `$$ID = ${oids[i % 5]}`)} RETURN *`)
    expect([find(plan, 'oidLookup').returned, plan.returned]).toEqual([5, 5])
  })
})
