/** GROUP BY, HAVING, and aggregates over all rows (DO, sections 3 and 4). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

describe('GROUP BY', () => {
  queryTest('groups by simple values, null among them, also through references', shop, async (db) => {
    expect(await db.rows('FROM Client GROUP BY age ORDER BY age RETURN age, COUNT() AS n')).toEqual([
      { age: 25, n: 2 },
      { age: 30, n: 1 },
      { age: null, n: 1 },
    ])
    expect(
      await db.rows(
        'FROM Order GROUP BY client.name ORDER BY client.name RETURN client.name AS who, SUM(total) AS sum',
      ),
    ).toEqual([
      { who: 'Ann', sum: 17.5 },
      { who: 'Bob', sum: 20 },
      { who: 'Dunn Ltd', sum: 2.5 },
      { who: null, sum: null },
    ])
    expect(
      await db.rows('FROM Order GROUP BY client RETURN COUNT() AS n ORDER BY n'.replace(' ORDER BY n', '')),
    ).toHaveLength(4)
  })

  queryTest('by several expressions', shop, async (db) => {
    const rows = await db.rows(
      'FROM Order WHERE NOT IS_NULL(client) GROUP BY YEAR(day), MONTH(day) ORDER BY MONTH(day) DESC RETURN MONTH(day) AS month, COUNT() AS n',
    )
    expect(rows).toEqual([
      { month: 3, n: 1 },
      { month: 2, n: 2 },
      { month: 1, n: 1 },
    ])
  })

  queryTest('with HAVING keeps groups', shop, async (db) => {
    const text =
      'FROM Order GROUP BY client HAVING COUNT() > 1 AND SUM(total) > 10 RETURN client.name AS who, COUNT() AS n'
    expect(await db.rows(text)).toEqual([{ who: 'Ann', n: 2 }])
  })

  queryTest('every aggregate is over the group', shop, async (db) => {
    const rows = await db.rows(
      `FROM Order WHERE NOT IS_NULL(client) GROUP BY client.name ORDER BY client.name
       RETURN client.name AS who, COUNT() AS n, COUNT(total) AS t, SUM(total) AS sum, AVG(total) AS avg, MIN(total) AS min,
         MAX(day) AS last, COLLECT(number) AS numbers`,
    )
    expect(rows[0]).toEqual({
      who: 'Ann',
      n: 2,
      t: 2,
      sum: 17.5,
      avg: 8.75,
      min: 5,
      last: '2024-02-10',
      numbers: [1, 2],
    })
    expect(rows).toHaveLength(3)
  })

  queryTest('takes what is neither grouped nor aggregated from the first object of the group', shop, async (db) => {
    expect(await db.rows('FROM Client GROUP BY age ORDER BY age RETURN age, name')).toEqual([
      { age: 25, name: 'Bob' },
      { age: 30, name: 'Ann' },
      { age: null, name: 'Cleo' },
    ])
  })

  queryTest('by a collection is refused', shop, async (db) => {
    const error = await db.failure('FROM Client GROUP BY tags RETURN COUNT()')
    expect(error).toMatchObject({ type: 'QueryError', extensions: { column: 22, text: 'tags' } })
  })
})

describe('RETURN', () => {
  queryTest('of an aggregate without GROUP BY is one row', shop, async (db) => {
    expect(
      await db.rows('FROM Order RETURN COUNT() AS all, COUNT(total) AS n, SUM(total), MIN(day), MAX(number)'),
    ).toEqual([{ all: 5, n: 4, 'SUM(total)': 40, 'MIN(day)': '2024-01-10', 'MAX(number)': 5 }])
    expect(
      await db.rows('FROM Order WHERE number > 100 RETURN COUNT() AS n, SUM(total) AS sum, AVG(total) AS avg'),
    ).toEqual([{ n: 0, sum: null, avg: null }])
    expect(await db.rows('FROM Order RETURN COUNT(*) AS n')).toEqual([{ n: 5 }])
    expect(await db.rows('FROM Client RETURN AVG(COUNT(orders)) AS mean')).toEqual([{ mean: 1 }])
  })
})
