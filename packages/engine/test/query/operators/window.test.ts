/** Window functions against a plain evaluation: partitions, peers, and what is around each row. */
import { tmpdir } from 'node:os'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TemporarySpace } from '../../../src/spill/temporary-space.ts'
import { runs } from '../../bytes/property-runs.ts'
import { openQueryDatabase, queryTest, type Row } from '../query-database.ts'

const schema = 'UPDATE SCHEMA { CREATE CLASS T {k: Integer, g: String, n: Integer} }'

queryTest('window functions', [schema], async (db) => {
  await db.rows(`FOR EACH r IN $rows => (CREATE T {k: $r.k, g: $r.g, n: $r.n})`, {
    rows: [
      { k: 1, g: 'a', n: 10 },
      { k: 2, g: 'a', n: 20 },
      { k: 3, g: 'a', n: 20 },
      { k: 4, g: 'b', n: 5 },
      { k: 5, g: 'b', n: null },
    ],
  })
  const of = async (expression: string): Promise<unknown[]> =>
    (await db.rows(`FROM T ORDER BY k RETURN ${expression} AS x`)).map(({ x }) => x)
  expect(await of('ROW_NUMBER() OVER (PARTITION BY g ORDER BY n DESC, k)')).toEqual([3, 1, 2, 2, 1])
  expect(await of('RANK() OVER (PARTITION BY g ORDER BY n DESC)')).toEqual([3, 1, 1, 2, 1])
  expect(await of('DENSE_RANK() OVER (PARTITION BY g ORDER BY n DESC)')).toEqual([2, 1, 1, 2, 1])
  expect(await of('RANK() OVER ()')).toEqual([1, 1, 1, 1, 1])
  expect(await of('LAG(n) OVER (ORDER BY k)')).toEqual([null, 10, 20, 20, 5])
  expect(await of('LEAD(n, 2, -1) OVER (PARTITION BY g ORDER BY k)')).toEqual([20, -1, -1, -1, -1])
  expect(await of('FIRST_VALUE(k) OVER (PARTITION BY g ORDER BY k DESC)')).toEqual([3, 3, 3, 5, 5])
  expect(await of('LAST_VALUE(k) OVER (PARTITION BY g ORDER BY n)')).toEqual([1, 3, 3, 4, 5])
  expect(await of('LAST_VALUE(k) OVER (PARTITION BY g)')).toEqual([3, 3, 3, 5, 5])
  expect(await of('SUM(n) OVER (PARTITION BY g ORDER BY n)')).toEqual([10, 50, 50, 5, 5])
  expect(await of('SUM(n) OVER (PARTITION BY g)')).toEqual([50, 50, 50, 5, 5])
  expect(await of('COUNT() OVER ()')).toEqual([5, 5, 5, 5, 5])
  expect(await of('COUNT(DISTINCT n) OVER (ORDER BY k)')).toEqual([1, 2, 2, 3, 3])
  expect(await of('COLLECT(n) OVER (PARTITION BY g ORDER BY k)')).toEqual([[10], [10, 20], [10, 20, 20], [5], [5]])
  expect(await of('MEDIAN(n) OVER (PARTITION BY g)')).toEqual([20, 20, 20, 5, 5])
  expect(await of('n - AVG(n) OVER (PARTITION BY g)')).toEqual([10 - 50 / 3, 20 - 50 / 3, 20 - 50 / 3, 0, null])
  expect(await db.rows('FROM T ORDER BY r, k TAKE 2 RETURN k, RANK() OVER (ORDER BY n DESC) AS r')).toEqual([
    { k: 5, r: 1 },
    { k: 2, r: 2 },
  ])
  expect(
    await db.rows(
      'FROM T GROUP BY g ORDER BY g RETURN g, SUM(n) AS s, RANK() OVER (ORDER BY SUM(n) DESC) AS r, SUM(SUM(n)) OVER () AS all',
    ),
  ).toEqual([
    { g: 'a', s: 50, r: 1, all: 55 },
    { g: 'b', s: 5, r: 2, all: 55 },
  ])
  expect(await db.rows('FROM T RETURN DISTINCT g, COUNT() OVER (PARTITION BY g) AS c ORDER BY g')).toEqual([
    { g: 'a', c: 3 },
    { g: 'b', c: 2 },
  ])
  expect(
    await db.rows('MATCH (t:T) RETURN t.k AS k, ROW_NUMBER() OVER (ORDER BY t.k DESC) AS r ORDER BY k TAKE 1'),
  ).toEqual([{ k: 1, r: 5 }])
  expect((await db.failure('FROM T WHERE RANK() OVER () = 1 RETURN k')).message).toContain(
    'stands in RETURN and ORDER BY only',
  )
  expect((await db.failure('FROM T GROUP BY g HAVING r = 1 RETURN g, RANK() OVER () AS r')).message).toContain(
    'stands in RETURN and ORDER BY only',
  )
  expect((await db.failure('FROM T RETURN RANK()')).message).toContain('RANK is followed by OVER (…)')
  expect((await db.failure('FROM T RETURN UPPER(g) OVER ()')).message).toContain('UPPER is not a window function')
  expect((await db.failure('FROM T RETURN LAG(n, -1) OVER ()')).message).toContain('0 or more, not -1')
})

describe('random rows', () => {
  it('have the results that a plain evaluation gives', async () => {
    const row = fc.record({ g: fc.constantFrom('a', 'b', null), n: fc.option(fc.integer({ min: 0, max: 4 })) })
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 25 }), fc.boolean(), async (given, isDown) => {
        const { db, close } = await openQueryDatabase([schema])
        const rows = given.map((one, k) => ({ ...one, k }))
        await db.rows('FOR EACH r IN $rows => (CREATE T {k: $r.k, g: $r.g, n: $r.n})', { rows })
        const order = `PARTITION BY g ORDER BY n${isDown ? ' DESC' : ''}`
        const found = await db.rows(
          `FROM T ORDER BY k RETURN k, RANK() OVER (${order}) AS rank, DENSE_RANK() OVER (${order}) AS dense,
             SUM(n) OVER (${order}) AS sum, COUNT() OVER (PARTITION BY g) AS size, LAG(k) OVER (${order}, k) AS before`,
        )
        expect(found).toEqual(rows.map((one) => expected(one, rows, isDown)))
        await close()
      }),
      runs(40),
    )
  })
})

interface Plain {
  readonly k: number
  readonly g: string | null
  readonly n: number | null
}

function expected(row: Plain, rows: readonly Plain[], isDown: boolean): Row {
  const partition = rows.filter(({ g }) => g === row.g)
  const place = ({ n }: Plain): number => (n === null ? 100 : n) * (isDown ? -1 : 1)
  const before = partition.filter((one) => place(one) < place(row))
  const upTo = partition.filter((one) => place(one) <= place(row)).flatMap(({ n }) => n ?? [])
  const inOrder = [...partition].sort((one, other) => place(one) - place(other) || one.k - other.k)
  return {
    k: row.k,
    rank: before.length + 1,
    dense: new Set(before.map(place)).size + 1,
    sum: upTo.length === 0 ? null : upTo.reduce((sum, n) => sum + n, 0),
    size: partition.length,
    before: inOrder[inOrder.indexOf(row) - 1]?.k ?? null,
  }
}

queryTest('a statement around it takes the first of each partition', [schema], async (db) => {
  await db.rows(
    "FOR EACH i IN LIST{1, 2, 3, 4} => (CREATE T {k: $i, g: CASE $i % 2 WHEN 0 THEN 'even' ELSE 'odd' END, n: $i})",
  )
  const inner = 'FROM T RETURN k, g, ROW_NUMBER() OVER (PARTITION BY g ORDER BY n DESC) AS place'
  expect(await db.rows(`FROM (${inner}) AS r WHERE r.place = 1 ORDER BY r.k RETURN r.k AS k, r.g AS g`)).toEqual([
    { k: 3, g: 'odd' },
    { k: 4, g: 'even' },
  ])
  expect(await db.rows('FROM T a, T b WHERE a.g = b.g RETURN DISTINCT a.g AS x ORDER BY x')).toEqual([
    { x: 'even' },
    { x: 'odd' },
  ])
  expect(await db.rows('FROM T a, T b WHERE a.g = b.g RETURN DISTINCT *')).toHaveLength(8)
  expect(await db.rows('FROM T a, T b WHERE a = b RETURN a.k AS x, COUNT() OVER () AS c ORDER BY x TAKE 1')).toEqual([
    { x: 1, c: 4 },
  ])
  expect(await db.rows('FROM (FROM T RETURN g, n) AS r RETURN DISTINCT r.g AS x ORDER BY x')).toHaveLength(2)
  expect(
    await db.rows("FROM (FROM T RETURN g, n) AS r WHERE r.g LIKE 'e%' AND r.n BETWEEN 3 AND 4 RETURN r.n AS n"),
  ).toEqual([{ n: 4 }])
})

it('a window continues on disk however few rows memory may hold', async () => {
  const setUp = ['UPDATE SCHEMA { CREATE CLASS R {id: Integer, g: Integer} }']
  const ids = Array.from({ length: 600 }, (_, i) => i)
  const texts = [
    'FROM R ORDER BY id RETURN SUM(id) OVER (ORDER BY id) AS k',
    'FROM R ORDER BY id RETURN RANK() OVER (PARTITION BY g ORDER BY id) AS k, LAG(id, 3) OVER (ORDER BY id DESC) AS l, COUNT() OVER () AS c',
  ]
  const found: unknown[] = []
  for (const limits of [{}, { sortedRowsMax: 40 }, { sortedRowsMax: 1 }]) {
    const { db, close } = await openQueryDatabase(setUp, { limits, temporary: new TemporarySpace(tmpdir()) })
    await db.rows('FOR EACH i IN $ids => (CREATE R {id: $i, g: $i % 7})', { ids })
    found.push(await Promise.all(texts.map((text) => db.rows(text))))
    await close()
  }
  expect(found[1]).toEqual(found[0])
  expect(found[2]).toEqual(found[0])
})
