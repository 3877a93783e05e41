/** UNION: the rows of several statements, as those of one. */
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

describe('UNION', () => {
  const names = ['Ann', 'Bob', 'Cleo', 'Dunn Ltd', 'pen', 'ink']

  queryTest('gives the rows of each, equal ones once, under the names of the first', shop, async (db) => {
    const both = 'FROM Client RETURN name UNION FROM Item RETURN title'
    expect(await db.rows(both)).toEqual(names.map((name) => ({ name })))
    expect(await db.rows('FROM Client RETURN age UNION FROM Client RETURN age')).toEqual([
      { age: 30 },
      { age: 25 },
      { age: null },
    ])
    expect(
      await db.rows(
        'SELECT age FROM Client UNION ALL SELECT age FROM Client WHERE age > 0 ORDER BY age DESC SKIP 1 LIMIT 4',
      ),
    ).toEqual([{ age: 30 }, { age: 30 }, { age: 25 }, { age: 25 }])
    // UNION ALL behind UNION adds to what is distinct by then.
    const twice =
      'FROM Item RETURN count UNION FROM Item RETURN count UNION ALL FROM Item RETURN price AS other ORDER BY count'
    expect(await db.rows(twice)).toEqual([{ count: 2.5 }, { count: 3 }, { count: 10 }, { count: 100 }])
    expect(await db.rows('FROM Client RETURN COUNT() AS n UNION ALL FROM Item RETURN COUNT()')).toEqual([
      { n: 4 },
      { n: 2 },
    ])
    expect(
      await db.rows(
        'FROM Client c WHERE age > 25 RETURN c.name, age UNION FROM Item RETURN title, price ORDER BY c.name',
      ),
    ).toEqual([
      { 'c.name': 'Ann', age: 30 },
      { 'c.name': 'ink', age: 10 },
      { 'c.name': 'pen', age: 2.5 },
    ])
    expect(await db.rows("FROM Client WHERE name = 'Ann' RETURN 1, 2 UNION FROM Item RETURN 0, 0 TAKE 1")).toHaveLength(
      1,
    )
  })

  queryTest('of objects shows objects', shop, async (db) => {
    const all = await db.rows('FROM Client RETURN *')
    const [ann, bob] = all
    expect(await db.rows('FROM Client RETURN * UNION FROM Company RETURN *')).toEqual(all)
    expect(
      await db.rows(
        "FROM Client WHERE name = 'Bob' RETURN * UNION ALL FROM Client WHERE age = 30 RETURN * ORDER BY name",
      ),
    ).toEqual([ann, bob])
    expect(await db.rows('FROM Client WHERE age = 30 RETURN $$ID UNION FROM Item RETURN $$ID')).toHaveLength(3)
  })

  queryTest('stands wherever rows do', shop, async (db) => {
    const both = 'FROM Client RETURN name UNION FROM Item RETURN title'
    expect(await db.rows(`FROM (${both}) AS u WHERE u.name < 'C' RETURN u.name AS n`)).toEqual([
      { n: 'Ann' },
      { n: 'Bob' },
    ])
    expect(await db.rows(`WITH u AS (${both}) FROM u a, u b WHERE a.name = b.name RETURN COUNT() AS n`)).toEqual([
      { n: 6 },
    ])
    expect(await db.rows(`FROM Client WHERE name IN (${both}) RETURN COUNT() AS n`)).toEqual([{ n: 4 }])
    expect(await db.rows(`LET x = (${both}); SHOW COUNT($x)`)).toEqual([6])
    expect(
      await db.rows(`MATCH (c:Client) WHERE c.age = 30 RETURN c.name UNION ${both} ORDER BY c.name TAKE 1`),
    ).toEqual([{ 'c.name': 'Ann' }])
    // For each row around it.
    expect(
      await db.rows(
        "FROM Client c WHERE EXISTS(FROM Order o WHERE o.client = c RETURN 1 UNION FROM Item WHERE c.name = 'Cleo' RETURN 2) RETURN name",
      ),
    ).toEqual(names.slice(0, 4).map((name) => ({ name })))
    expect(
      await db.rows(
        'FROM Client c TAKE 2 RETURN (FROM Order o WHERE o.client = c RETURN number UNION ALL FROM Item RETURN price) AS all',
      ),
    ).toEqual([{ all: [1, 2, 2.5, 10] }, { all: [3, 2.5, 10] }])
  })

  queryTest('is refused where its statements do not fit together', shop, async (db) => {
    for (const [text, message] of [
      ['FROM Item RETURN title ORDER BY title UNION FROM Item RETURN title', 'behind the last statement of a UNION'],
      ['FROM Item RETURN title TAKE 1 UNION FROM Item RETURN title', 'those of one statement: FROM (FROM … TAKE 1)'],
      ['FROM Item RETURN title UNION FROM Item RETURN title, price', 'one column, and here 2 columns'],
      [
        'FROM Item RETURN title UNION FROM Item RETURN price',
        "column 'title' of a UNION is of one type, not a string and a real",
      ],
      ['FROM Item RETURN * UNION FROM Client RETURN *', 'have a class in common'],
      ['MATCH (i:Item) RETURN * UNION FROM Item RETURN *', 'name the column'],
      ['FROM Item RETURN *, 1 AS one UNION FROM Item RETURN *', 'each column is named'],
      ['FROM Client RETURN tags UNION FROM Client RETURN tags', 'UNION without ALL takes'],
      ['FROM Item RETURN title UNION DELETE Item', "'DELETE' does not fit here"],
      ['FROM Item RETURN title UNION', 'expected FROM, SELECT, RETURN or MATCH'],
      ['FROM Item RETURN title UNION FROM Item RETURN title ORDER BY price', 'price'],
      [`FROM Item RETURN title${' UNION FROM Item RETURN title'.repeat(100)}`, 'at most 100 statements'],
    ] as const) {
      expect((await db.failure(text)).message, text).toContain(message)
    }
  })

  queryTest('agrees with lists', [], async (db) => {
    const row = fc.record({ n: fc.constantFrom(null, 0, 1, 2.5, -1), t: fc.constantFrom(null, '', 'a', 'b') })
    const parts = fc.array(fc.tuple(fc.array(row, { minLength: 1, maxLength: 12 }), fc.boolean()), {
      minLength: 2,
      maxLength: 5,
    })
    const agrees = fc.asyncProperty(parts, fc.nat(4), async (given, skip) => {
      const text = given.map(
        ([, isAll], i) =>
          `${i === 0 ? '' : isAll ? ' UNION ALL ' : ' UNION '}FROM $p${i} AS r RETURN r.n AS n, r.t AS t`,
      )
      const parameters = Object.fromEntries(given.map(([rows], i) => [`p${i}`, [{ n: 9, t: 'z' }, ...rows]]))
      const distinct = given.findLastIndex(([, isAll], i) => i > 0 && !isAll)
      const firsts =
        distinct < 0 ? [] : firstOfEqual(given.slice(0, distinct + 1).flatMap(([rows]) => [{ n: 9, t: 'z' }, ...rows]))
      const rest = given.slice(distinct + 1).flatMap(([rows]) => [{ n: 9, t: 'z' }, ...rows])
      expect(await db.rows(`${text.join('')} SKIP ${skip}`, parameters)).toEqual([...firsts, ...rest].slice(skip))
    })
    await fc.assert(agrees, { numRuns: 60 })
  })
})

function firstOfEqual<T>(rows: readonly T[]): T[] {
  const known = new Map<string, T>()
  for (const row of rows) {
    const key = JSON.stringify(row)
    if (!known.has(key)) known.set(key, row)
  }
  return [...known.values()]
}
