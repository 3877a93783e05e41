/** DELETE, and what it cleans up (DO, sections 1, 3 and 4). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

describe('DELETE', () => {
  queryTest('replies the objects as they were, and cleans both sides of links', shop, async (db) => {
    const before = await db.rows("FROM Client WHERE name = 'Ann' RETURN *")
    expect(await db.rows("DELETE Client WHERE name = 'Ann'")).toEqual(before)
    expect(await db.rows('FROM Client RETURN COUNT() AS n')).toEqual([{ n: 3 }])
    expect(await db.rows('FROM Order WHERE IS_NULL(client) RETURN number')).toEqual([
      { number: 1 },
      { number: 2 },
      { number: 5 },
    ])
    // A reference in one direction only stays, and dangles.
    expect(
      await db.rows(
        "FROM Client WHERE name = 'Bob' RETURN COUNT(friends) AS n, IS_VALID(friends[0]) AS valid".replace(
          'friends[0]',
          '(LOOKUP Client WHERE name = "Ann")',
        ),
      ),
    ).toEqual([{ n: 1, valid: false }])
  })

  queryTest('replies what RETURN asks for', shop, async (db) => {
    expect(
      await db.rows('DELETE Order WHERE total > 10 ORDER BY total DESC RETURN number, client.name AS who'),
    ).toEqual([
      { number: 3, who: 'Bob' },
      { number: 1, who: 'Ann' },
    ])
    expect(await db.rows('DELETE Order RETURN COUNT() AS n')).toEqual([{ n: 3 }])
    expect(await db.rows('DELETE Order RETURN COUNT() AS n')).toEqual([{ n: 0 }])
    expect(await db.rows('FROM Client WHERE COUNT(orders) > 0 RETURN name')).toEqual([])
  })

  queryTest('takes objects of subclasses too, unless it says ONLY', shop, async (db) => {
    expect(await db.rows('DELETE ONLY Client WHERE age = 25 RETURN name')).toEqual([{ name: 'Bob' }])
    expect(await db.rows('DELETE Client WHERE age = 25 RETURN name')).toEqual([{ name: 'Dunn Ltd' }])
  })

  queryTest(
    'of more objects than a reply holds says to count, and deletes nothing',
    shop,
    async (db) => {
      const error = await db.failure('DELETE Order')
      expect(error.type).toBe('LimitExceeded')
      expect(error.message).toMatch(/RETURN COUNT\(\)/)
      expect(await db.rows('FROM Order RETURN COUNT() AS n')).toEqual([{ n: 5 }])
      expect(await db.rows('DELETE Order RETURN COUNT() AS n')).toEqual([{ n: 5 }])
    },
    { limits: { changeReplyBytesMax: 400 } },
  )
})
