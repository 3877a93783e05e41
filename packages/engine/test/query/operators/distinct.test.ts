/** DISTINCT: rows and values once each, before ORDER BY, SKIP and TAKE; names of columns in ORDER BY and HAVING. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../bytes/property-runs.ts'
import { openQueryDatabase, queryTest } from '../query-database.ts'

const schema = `UPDATE SCHEMA {
  CREATE CLASS P {name: String}
  CREATE CLASS T {a: Integer, b: Real, s: String, p: Reference{Referenced: P}, tags: List{Element: String}}
}`

queryTest('equal rows are one', [schema], async (db) => {
  await db.rows(
    `CREATE T {a: 1, b: 0.0, s: 'x', tags: LIST{'u', 'v', 'u'}}; CREATE T {a: 1, b: -0.0, s: 'x', p: 0-0-0-0};
     CREATE T {a: 2, s: null}; CREATE T {a: 2, s: null, p: CREATE P {name: 'q'}}`,
  )
  expect(await db.rows('FROM T RETURN DISTINCT a, s ORDER BY a')).toEqual([
    { a: 1, s: 'x' },
    { a: 2, s: null },
  ])
  expect(await db.rows('SELECT DISTINCT a FROM T ORDER BY a DESC TAKE 1')).toEqual([{ a: 2 }])
  expect(await db.rows('SELECT DISTINCT a FROM T ORDER BY a SKIP 1')).toEqual([{ a: 2 }])
  expect(await db.rows('SELECT DISTINCT a * 2 AS x FROM T ORDER BY x DESC')).toEqual([{ x: 4 }, { x: 2 }])
  // The attribute of that name is not returned, so that there is nothing else to order by.
  expect(await db.rows('SELECT DISTINCT a + 1 AS s FROM T ORDER BY s')).toEqual([{ s: 2 }, { s: 3 }])
  expect((await db.failure('SELECT DISTINCT a FROM T ORDER BY s')).message).toContain('ordered by what RETURN has')
  expect(await db.rows('FROM T WHERE a = 1 RETURN DISTINCT b')).toHaveLength(1)
  expect(await db.rows('FROM T WHERE a = 1 RETURN DISTINCT p')).toEqual([{ p: null }])
  expect(await db.rows('FROM T RETURN DISTINCT p.name AS n ORDER BY n')).toEqual([{ n: 'q' }, { n: null }])
  expect(await db.rows('FROM T RETURN DISTINCT *')).toHaveLength(4)
  expect(await db.rows('FROM T GROUP BY a RETURN DISTINCT COUNT() AS n')).toEqual([{ n: 2 }])
  expect(await db.rows('MATCH (t:T), (u:T) WHERE t.a = u.a RETURN DISTINCT t.a AS a ORDER BY a')).toEqual([
    { a: 1 },
    { a: 2 },
  ])
  expect(await db.value('(FROM T RETURN DISTINCT a ORDER BY a)')).toEqual([1, 2])
  expect(await db.rows('UPDATE T SET s TO null RETURN DISTINCT a ORDER BY a')).toEqual([{ a: 1 }, { a: 2 }])
})

queryTest('aggregates of distinct values', [schema], async (db) => {
  await db.rows("FOR EACH i IN LIST{1, 1, 2, null} => (CREATE T {a: $i, tags: LIST{'u', 'v', 'u'}})")
  const text = 'COUNT(DISTINCT a) AS n, SUM(DISTINCT a) AS sum, AVG(DISTINCT a) AS mean, COLLECT(DISTINCT a) AS all'
  expect(await db.rows(`FROM T RETURN ${text}, COUNT(a) AS c`)).toEqual([
    { n: 2, sum: 3, mean: 1.5, all: [1, 2], c: 3 },
  ])
  expect(await db.rows('FROM T TAKE 1 RETURN COUNT(DISTINCT tags) AS n, COUNT(tags) AS c')).toEqual([{ n: 2, c: 3 }])
  expect(await db.rows('FROM T GROUP BY a HAVING n > 1 RETURN a, COUNT() AS n')).toEqual([{ a: 1, n: 2 }])
  expect(await db.rows('FROM T GROUP BY a ORDER BY n DESC, a RETURN a, COUNT() AS n')).toEqual([
    { a: 1, n: 2 },
    { a: 2, n: 1 },
    { a: null, n: 1 },
  ])
})

queryTest('an attribute wins over a column of its name', [schema], async (db) => {
  await db.rows('CREATE T {a: 1, b: 2.0}; CREATE T {a: 2, b: 1.0}')
  expect(await db.rows('FROM T ORDER BY a RETURN b AS a')).toEqual([{ a: 2 }, { a: 1 }])
  expect(await db.rows('FROM T ORDER BY x RETURN b AS x')).toEqual([{ x: 1 }, { x: 2 }])
  expect(await db.rows('FROM T ORDER BY x + 1 DESC RETURN b AS x')).toEqual([{ x: 2 }, { x: 1 }])
})

queryTest(
  'paths may begin with the name of a clause',
  [
    'UPDATE SCHEMA { CREATE CLASS Spot EMBEDDABLE {zip: Integer} CREATE CLASS W {where: Object{Class: Spot}, n: Integer} }',
    'CREATE W {where.zip: 1, n: 1}; CREATE W {where.zip: 1, n: 2}',
  ],
  async (db) => {
    expect(await db.rows('FROM W RETURN DISTINCT where.zip AS z')).toEqual([{ z: 1 }])
    expect(await db.rows('FROM W WHERE n = 2 RETURN CASE where.zip WHEN 1 THEN n ELSE 0 END AS z')).toEqual([{ z: 2 }])
  },
)

describe('random rows', () => {
  it('are distinct as a set of them is', async () => {
    const row = fc.record({
      a: fc.option(fc.constantFrom(0, 1, 2)),
      b: fc.option(fc.constantFrom(0, -0, 1.5)),
      s: fc.option(fc.constantFrom('', 'x', 'x\u0000', 'y')),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 40 }), async (rows) => {
        const { db, close } = await openQueryDatabase([schema])
        await db.rows('FOR EACH r IN $rows => (CREATE T {a: $r.a, b: $r.b, s: $r.s})', { rows })
        const once = (one: unknown[]): string[] => [...new Set(one.map((value) => JSON.stringify(value)))].sort()
        const of = ({ a, b, s }: (typeof rows)[number]): unknown => ({ a, b: b === null ? null : b + 0, s })
        const found = await db.rows('FROM T RETURN DISTINCT a, b, s')
        expect(
          found.map((one) => JSON.stringify({ ...one, b: one.b === null ? null : Number(one.b) + 0 })).sort(),
        ).toEqual(once(rows.map(of)))
        const [counted] = await db.rows('FROM T RETURN COUNT(DISTINCT a) AS a, COUNT(DISTINCT s) AS s')
        const count = (values: unknown[]): number => new Set(values.filter((value) => value !== null)).size
        expect(counted).toEqual({ a: count(rows.map(({ a }) => a)), s: count(rows.map(({ s }) => s)) })
        await close()
      }),
      runs(30),
    )
  })
})
