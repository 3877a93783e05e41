/** ORDER BY in the order of an index. */
import { describe, expect } from 'vitest'
import { find, touched } from '../plans.ts'
import { airlineTests, remarkOf } from './airline.ts'

const plannerTest = airlineTests(800)

describe('ORDER BY', () => {
  plannerTest('and TAKE in the order of an index touches TAKE rows', async (db) => {
    for (const [direction, first] of [
      ['ASC', 0],
      ['DESC', 5003],
    ] as const) {
      const plan = await db.analyze(`FROM Flight ORDER BY number ${direction} TAKE 10 RETURN number`)
      expect([find(plan, 'orderedIndexScan').index, touched(plan), plan.returned]).toEqual(['flightNumber', 10, 10])
      const [row] = await db.rows(`FROM Flight ORDER BY number ${direction} TAKE 10 RETURN number`)
      expect(row).toEqual({ number: first })
    }
  })

  plannerTest('and SKIP touches those skipped too', async (db) => {
    const plan = await db.analyze('FROM Flight ORDER BY number SKIP 5 TAKE 10 RETURN number')
    expect([touched(plan), plan.returned]).toEqual([15, 10])
  })

  plannerTest('after equality on the attributes before', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE carrierCode = 'c7' ORDER BY seats DESC TAKE 3 RETURN seats")
    expect([find(plan, 'orderedIndexScan').index, plan.returned]).toEqual(['flightCarrierSeats', 3])
    expect(touched(plan)).toBe(32)
    expect(await db.rows("FROM Flight WHERE carrierCode = 'c7' ORDER BY seats DESC TAKE 3 RETURN seats")).toEqual([
      { seats: 87 },
      { seats: 87 },
      { seats: 87 },
    ])
  })

  plannerTest('of cut texts puts those that look alike in order', async (db) => {
    const rows = await db.rows('FROM ONLY Flight ORDER BY remark, number TAKE 7 RETURN remark')
    expect(rows.map(({ remark }) => remark)).toEqual([0, 0, 40, 40, 80, 80, 120].map(remarkOf))
    const down = await db.rows('FROM ONLY Flight ORDER BY remark DESC TAKE 2 RETURN remark')
    expect(down.map(({ remark }) => remark)).toEqual([remarkOf(399), remarkOf(399)])
  })
})
