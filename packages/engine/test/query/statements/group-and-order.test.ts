/** GROUP BY, HAVING, ORDER BY, SKIP and TAKE (DO, sections 3 and 4). */
import { describe, expect } from 'vitest'
import { type QueryDatabase, queryTest } from '../query-database.ts'
import { shop } from './shop.ts'

async function names(db: QueryDatabase, clauses: string): Promise<unknown[]> {
  return (await db.rows(`FROM Client ${clauses} RETURN name`)).map(({ name }) => name)
}

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

describe('ORDER BY', () => {
  queryTest('nulls come last ascending, first descending', shop, async (db) => {
    expect(await names(db, 'ORDER BY age, name')).toEqual(['Bob', 'Dunn Ltd', 'Ann', 'Cleo'])
    expect(await names(db, 'ORDER BY age ASC, name DESC')).toEqual(['Dunn Ltd', 'Bob', 'Ann', 'Cleo'])
    expect(await names(db, 'ORDER BY age DESC, name')).toEqual(['Cleo', 'Ann', 'Bob', 'Dunn Ltd'])
  })

  queryTest('takes any expression', shop, async (db) => {
    expect(await names(db, 'ORDER BY COUNT(orders) DESC, LENGTH(name)')).toEqual(['Ann', 'Bob', 'Dunn Ltd', 'Cleo'])
    expect(await names(db, 'ORDER BY address.city, name')).toEqual(['Bob', 'Ann', 'Dunn Ltd', 'Cleo'])
    expect(await names(db, 'ORDER BY $$ID DESC')).toEqual(['Dunn Ltd', 'Cleo', 'Bob', 'Ann'])
  })

  queryTest('compares texts by code point', shop, async (db) => {
    await db.rows("FOR EACH n IN LIST{'😀', '\uff01', 'Z', 'a', 'É'} => (CREATE Item {title: $n, count: -1})")
    const rows = await db.rows('FROM Item WHERE count = -1 ORDER BY title RETURN title')
    expect(rows.map(({ title }) => title)).toEqual(['Z', 'a', 'É', '\uff01', '😀'])
    await db.rows('CREATE INDEX itemTitle ON Item (title)')
    expect(await db.rows('FROM Item WHERE count = -1 ORDER BY title RETURN title')).toEqual(rows)
  })
})

describe('SKIP and TAKE', () => {
  queryTest('count rows, after the order', shop, async (db) => {
    expect(await names(db, 'ORDER BY name SKIP 1 TAKE 2')).toEqual(['Bob', 'Cleo'])
    expect(await names(db, 'ORDER BY name TAKE 2 SKIP 1')).toEqual(['Bob', 'Cleo'])
    expect(await names(db, 'ORDER BY name OFFSET 2 LIMIT 1')).toEqual(['Cleo'])
    expect(await names(db, 'ORDER BY name SKIP 10')).toEqual([])
    expect(await names(db, 'ORDER BY name TAKE 0')).toEqual([])
    expect(await names(db, 'TAKE 1 + 1')).toHaveLength(2)
    expect(await db.rows('FROM Client ORDER BY name SKIP $s TAKE $t RETURN name', { s: 1, t: 1 })).toEqual([
      { name: 'Bob' },
    ])
  })

  queryTest('WHILE begins and ends at the first row for which the predicate is not true', shop, async (db) => {
    expect(await names(db, "ORDER BY name SKIP WHILE name < 'Bob'")).toEqual(['Bob', 'Cleo', 'Dunn Ltd'])
    expect(await names(db, "ORDER BY name TAKE WHILE name < 'Cleo'")).toEqual(['Ann', 'Bob'])
    expect(await names(db, 'ORDER BY age DESC, name TAKE WHILE age > 0')).toEqual([])
    expect(await names(db, "ORDER BY name SKIP WHILE name < 'Bob' TAKE 1")).toEqual(['Bob'])
    expect(await names(db, "ORDER BY name SKIP 1 TAKE WHILE name != 'Dunn Ltd'")).toEqual(['Bob', 'Cleo'])
  })

  queryTest('apply to groups', shop, async (db) => {
    expect(await db.rows('FROM Client GROUP BY age ORDER BY COUNT() DESC TAKE 1 RETURN age, COUNT() AS n')).toEqual([
      { age: 25, n: 2 },
    ])
  })

  queryTest('take whole numbers from 0', shop, async (db) => {
    for (const clause of ['TAKE -1', 'SKIP -1', "TAKE 'a'", 'TAKE 1.5', 'SKIP null', 'TAKE name', 'TAKE $t']) {
      const error = await db.failure(`FROM Client ${clause} RETURN name`, { t: true })
      expect(error.type, clause).toBe('QueryError')
      expect(error.message, clause).toMatch(/^Line 1, column \d+: /)
    }
    expect((await db.failure('FROM Client TAKE WHILE 5 RETURN name')).type).toBe('QueryError')
  })
})
