/** EXPLAIN as a statement: what it carries out, and what it refuses (DO, section 3). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

describe('EXPLAIN', () => {
  queryTest('tells the plan of a statement, and carries nothing out', shop, async (db) => {
    const [plan] = await db.rows('EXPLAIN DELETE Order WHERE number = 1')
    expect(plan).toMatchObject({ operator: expect.any(String) })
    expect(JSON.stringify(plan)).toMatch(/Shop\.Order/)
    expect(await db.rows('FROM Order RETURN COUNT() AS n')).toEqual([{ n: 5 }])
    expect(JSON.stringify(plan)).not.toMatch(/"examined"/)
  })

  queryTest('ANALYZE carries it out, and counts', shop, async (db) => {
    const plan = await db.analyze('FROM Order WHERE total > 10 RETURN number')
    expect(plan.returned).toBe(2)
    expect(JSON.stringify(plan)).toMatch(/"examined":5/)
  })

  queryTest('refuses what the statement itself would be refused for', shop, async (db) => {
    expect((await db.failure('EXPLAIN FROM Nobody RETURN *')).extensions).toMatchObject({ line: 1, column: 14 })
  })
})
