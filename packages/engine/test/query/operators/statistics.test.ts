/** STDDEV, MEDIAN and PERCENTILE over rows, groups and collections. */
import { expect } from 'vitest'
import { queryTest } from '../query-database.ts'

queryTest(
  'statistics of rows, of groups and of collections',
  ['UPDATE SCHEMA { CREATE CLASS T {g: Integer, n: Integer, r: Real, all: List{Element: Integer}} }'],
  async (db) => {
    await db.rows(
      `FOR EACH i IN LIST{1, 2, 3, 4, 10} => (CREATE T {g: $i % 2, n: $i, r: $i * 0.5, all: LIST{5, 1, 3}}); CREATE T {g: 7, n: null, r: null}`,
    )
    expect(
      await db.rows('FROM T RETURN MEDIAN(n) AS m, PERCENTILE(n, 0.25) AS q, PERCENTILE(r, 1) AS most, STDDEV(n) AS d'),
    ).toEqual([{ m: 3, q: 2, most: 5, d: Math.sqrt(12.5) }])
    expect(
      await db.rows(
        'FROM T GROUP BY g ORDER BY g RETURN g, MEDIAN(n) AS m, PERCENTILE(n, $p) AS p, STDDEV(r) AS d, COUNT() AS c',
        {
          p: 0.75,
        },
      ),
    ).toEqual([
      { g: 0, m: 4, p: 7, d: Math.sqrt(52 / 3) / 2, c: 3 },
      { g: 1, m: 2, p: 2.5, d: Math.sqrt(2) / 2, c: 2 },
      { g: 7, m: null, p: null, d: null, c: 1 },
    ])
    expect(
      await db.rows('FROM T WHERE n = 1 RETURN MEDIAN(all) AS m, PERCENTILE(all, 0) AS p, STDDEV(all) AS d'),
    ).toEqual([{ m: 3, p: 1, d: 2 }])
    expect(await db.value('MEDIAN(LIST{2, 1})')).toBe(1.5)
    expect(await db.value('STDDEV(LIST{2})')).toBe(null)
    expect(await db.rows('FROM T WHERE n > 100 RETURN MEDIAN(n) AS m')).toEqual([{ m: null }])
  },
)
