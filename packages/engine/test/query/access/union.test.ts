/** OR, where each side has an access path. */
import { describe, expect } from 'vitest'
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
