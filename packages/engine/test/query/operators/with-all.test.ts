/** RETURN *, e AS x: columns within the objects. */
import { expect } from 'vitest'
import { queryTest } from '../query-database.ts'

const setUp = [
  `UPDATE SCHEMA { CREATE CLASS U {name: String, all: List{Element: Reference{Referenced: T, Inverse: u}}}
     CREATE CLASS T {n: Integer, u: Reference{Referenced: U, Inverse: all}} CREATE CLASS S SUPERCLASS T {m: Integer} }`,
  "CREATE U {name: 'x', all: LIST{CREATE T {n: 1}, CREATE S {n: 2, m: 3}}}",
]

queryTest('columns are added to the objects', setUp, async (db) => {
  const plain = await db.rows('FROM T ORDER BY n RETURN *')
  expect(await db.rows('FROM T RETURN *, n + 1 AS next, u.name ORDER BY next')).toEqual(
    plain.map((row) => ({ ...row, next: (row.n as number) + 1, 'u.name': 'x' })),
  )
  expect(await db.rows('FROM T WHERE n < 2 RETURN *, n AS more')).toEqual([{ ...plain[0], more: 1 }])
  expect(await db.rows('FROM T RETURN *, 7 AS more')).toHaveLength(2)
  expect(await db.rows('FROM T ORDER BY n TAKE 1 RETURN *, 7 AS more')).toEqual([{ ...plain[0], more: 7 }])
  expect(await db.rows('EXPLAIN FROM T RETURN *, 7 AS more')).toMatchObject([{ columns: ['*', 'more'] }])
  const [whole] = await db.rows('FROM U RETURN *')
  expect(await db.rows('SELECT *, COUNT(all) AS c FROM U')).toEqual([{ ...whole, c: 2 }])
  expect(await db.rows('FROM T RETURN *, RANK() OVER (ORDER BY n DESC) AS r ORDER BY n TAKE 1')).toEqual([
    { ...plain[0], r: 2 },
  ])
  expect(await db.rows('FROM T RETURN DISTINCT *, 1 AS one')).toHaveLength(2)
  expect(await db.rows('UPDATE S SET m TO 4 RETURN *, m AS changed')).toEqual([{ ...plain[1], m: 4, changed: 4 }])
  expect(await db.rows('MATCH (t:S) RETURN *, t.n AS n')).toEqual([{ t: { ...plain[1], m: 4 }, n: 2 }])
  const [joined] = await db.rows('FROM T a, U b WHERE a.n = 1 RETURN *, a.n AS n')
  expect(joined).toEqual({ a: plain[0], b: whole, n: 1 })
  expect(await db.rows('FROM (FROM T RETURN n, n * 2 AS d) AS r WHERE r.n = 1 RETURN *, r.d + 1 AS e')).toEqual([
    { n: 1, d: 2, e: 3 },
  ])
  for (const [text, message] of [
    ['FROM T RETURN *, n', "objects have 'n' already"],
    ['FROM T RETURN *, n AS m', "objects have 'm' already"],
    ['FROM T RETURN *, n AS __class__', "objects have '__class__' already"],
    ['MATCH (t:T) RETURN *, t.n AS t', "'t' is returned by * already"],
    ['LET x = FROM T RETURN *, n AS k; SHOW $x', 'each column is named'],
    ['SHOW (FROM T RETURN *, n AS k)', 'each column is named'],
  ] as const) {
    expect((await db.failure(text)).message).toContain(message)
  }
})
