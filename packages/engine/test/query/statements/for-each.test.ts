/** FOR EACH: statements for each element (DO, section 3). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop, shopSchema } from '../shop.ts'

describe('FOR EACH', () => {
  queryTest('runs its statements for each element, and replies nothing', shop, async (db) => {
    expect(
      await db.rows(
        "FOR EACH n IN LIST{1, 2} => (CREATE Item {title: 't' + CAST($n AS String), count: $n}; LET x = $n)",
      ),
    ).toEqual([])
    expect(await db.rows("FROM Item WHERE title =~ '^t' ORDER BY title RETURN title, count")).toEqual([
      { title: 't1', count: 1 },
      { title: 't2', count: 2 },
    ])
    await db.rows(
      'FOR EACH o IN (FROM Order WHERE total > 10 RETURN *) => (UPDATE Order WHERE $$ID = $o SET total TO total + 1)',
    )
    expect(await db.rows('FROM Order WHERE total > 10 ORDER BY number RETURN total')).toEqual([
      { total: 13.5 },
      { total: 21 },
    ])
    await db.rows('FOR EACH a IN LIST{} => (CREATE Item {})')
    expect(await db.rows('FROM Item RETURN COUNT() AS n')).toEqual([{ n: 4 }])
  })

  queryTest('within each other', [shopSchema], async (db) => {
    await db.rows('FOR EACH a IN LIST{1, 2, 3} => (FOR EACH b IN LIST{10, 20} => (CREATE Item {count: $a * $b}))')
    expect(await db.rows('FROM Item RETURN SUM(count) AS sum, COUNT() AS n')).toEqual([{ sum: 180, n: 6 }])
    await db.rows(
      'LET a = 7; FOR EACH a IN LIST{1, 2} => (FOR EACH a IN LIST{5} => (SHOW $a); CREATE Item {count: $a}); CREATE Item {count: $a}',
    )
    expect(await db.rows('FROM Item WHERE count < 10 ORDER BY count RETURN count')).toEqual([
      { count: 1 },
      { count: 2 },
      { count: 7 },
    ])
    expect((await db.failure('FOR EACH b IN LIST{1} => (SHOW $b); SHOW $b')).message).toMatch(/\$b/)
  })

  queryTest('needs elements', [shopSchema], async (db) => {
    expect((await db.failure('FOR EACH a IN 5 => (SHOW 1)')).type).toBe('QueryError')
  })
})
