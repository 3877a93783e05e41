/** STDDEV, MEDIAN and PERCENTILE over rows, groups and collections. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { leastFrom, nthLeast } from '../../../src/query/evaluate/nth-least.ts'
import { runs } from '../../bytes/property-runs.ts'
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

describe('the n-th least', () => {
  it('is at its place, with those above it behind it', () => {
    const numbers = fc.array(fc.oneof(fc.integer({ min: 0, max: 5 }), fc.double({ noNaN: true })), { minLength: 1 })
    fc.assert(
      fc.property(numbers, fc.nat(), (values, at) => {
        const n = at % values.length
        const sorted = Float64Array.from(values).sort()
        const found = Float64Array.from(values)
        const end = (pieces: Generator<number, number>): number => {
          for (;;) {
            const piece = pieces.next()
            if (piece.done === true) return piece.value
          }
        }
        expect(end(nthLeast(found, n)) + 0).toBe((sorted[n] as number) + 0)
        if (n + 1 < values.length) expect(end(leastFrom(found, n + 1)) + 0).toBe((sorted[n + 1] as number) + 0)
      }),
      runs(500),
    )
  })
})
