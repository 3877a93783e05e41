/** An attribute beside an aggregate: refused without GROUP BY, with the GROUP BY to write (DO, section 6). */
import { describe, expect, it } from 'vitest'
import { rowValues } from '../row-texts.ts'
import { openQueryDatabase, type QueryDatabase, queryTest } from './query-database.ts'
import { shop } from './shop.ts'

/** Statements with `#` where GROUP BY belongs, and the keys that the error says. */
const refused: readonly (readonly [text: string, keys: string])[] = [
  ['SELECT name, COUNT() FROM Client #', 'name'],
  ['FROM Client # RETURN COUNT(*), address.city', 'address.city'],
  ['FROM Order WHERE number > 0 # RETURN client.name, client.age, SUM(total)', 'client.name, client.age'],
  ['FROM Order o # RETURN UPPER(o.client.name) AS who, COUNT()', 'UPPER(o.client.name)'],
  ['FROM Order # RETURN number * 2 + COUNT() AS n, number', 'number * 2, number'],
  ['FROM Order # RETURN CASE WHEN total > 3 THEN COUNT() ELSE number END AS n', 'total > 3, number'],
  ['FROM Order # RETURN number BETWEEN 1 AND 3 AS few, COUNT()', 'number BETWEEN 1 AND 3'],
  ['FROM Order # RETURN number IN (1, 2) AS few, COUNT()', 'number IN (1, 2)'],
  ['FROM Order # RETURN (number + 1) * COUNT() AS n', '(number + 1)'],
  ['FROM Order # RETURN CAST(number AS String) AS n, COUNT()', 'CAST(number AS String)'],
  ['FROM Client # RETURN *, COUNT() AS n', '$$ID'],
  ['FROM Client c # RETURN *, COUNT() AS n', 'c'],
  ['FROM Client # ORDER BY COUNT() RETURN *', '$$ID'],
  ['FROM Client # RETURN OBJECT($$ID), COUNT()', '$$ID'],
  ['FROM Client # RETURN tags, COUNT() AS n', '$$ID'],
  ['FROM Client c # RETURN c.orders{number}, COUNT() AS n', 'c'],
  ['FROM Client # RETURN COUNT(orders), COUNT()', 'COUNT(orders)'],
  ['FROM Order # RETURN client{name}, COUNT() AS n', 'client'],
  ['FROM Client # RETURN COUNT() ORDER BY name', 'name'],
  ['FROM Client # RETURN COUNT() AS n, name AS who ORDER BY who', 'name'],
  ['FROM Client # TAKE WHILE age > 20 RETURN COUNT()', 'age > 20'],
  ['FROM Client # RETURN DISTINCT name, COUNT()', 'name'],
  ['FROM Client # RETURN COUNT() AS n, ROW_NUMBER() OVER (ORDER BY name) AS place', 'name'],
  ['FROM Client # RETURN SUM(COUNT()) OVER (PARTITION BY age) AS s, COUNT() AS n', 'age'],
  ['FROM Client c # RETURN COUNT(), (FROM Order o WHERE o.client = c RETURN COUNT()) AS own', 'c'],
  ['FROM Client c # RETURN COUNT(), EXISTS(FROM Order o WHERE o.client.name = c.name) AS has', 'c.name'],
  ['FROM Client c, Order o WHERE o.client = c # RETURN c.name, o.day, COUNT() AS n', 'c.name, o.day'],
  ['FROM Client, Item # RETURN title, COUNT() AS n', 'title'],
  ['FROM Client c, Order o WHERE o.client = c # RETURN *, COUNT() AS n', 'c, o'],
  ['FROM (FROM Order RETURN number, total) AS r # RETURN r.number, SUM(r.total) AS s', 'r.number'],
  ['MATCH (c:Client)-[:orders]->(o) # RETURN c.name, COUNT(*)', 'c.name'],
  ['MATCH (c:Client)-[:orders]->(o) # RETURN c, COUNT(*)', 'c'],
  ['MATCH (c:Client)-[e:orders]->(o) # RETURN e.attribute, COUNT(*)', 'e.attribute'],
  ['MATCH (c:Client)-[:orders]->(o) # RETURN *, COUNT(*) AS n', 'c, o'],
  ["FROM Item # RETURN title, COUNT() UNION ALL FROM Client WHERE name = 'Bob' RETURN 'x', 1", 'title'],
  ['UPDATE Client WHERE age > 0 SET name TO name # RETURN name, COUNT()', 'name'],
  ['DELETE Client WHERE age > 99 # RETURN name, COUNT()', 'name'],
  ['WITH w AS (FROM Order # RETURN client.name AS who, COUNT() AS n) FROM w RETURN who, n', 'client.name'],
]

/** Beside values that are the same for all rows, and where each row has aggregates of its own. */
const taken: readonly string[] = [
  "FROM Client RETURN COUNT(), 'x' AS x, 1 + COUNT(*) AS more, $p AS p, $$NOW AS now",
  'FROM Client RETURN COUNT(), (FROM Order RETURN MAX(number)) AS most',
  'FROM Client RETURN name, COUNT(orders), SUM(orders.total) AS total',
  'FROM Client RETURN name, COUNT() OVER () AS n',
  'FROM Client RETURN SUM(COUNT()) OVER () AS n, COUNT() AS m',
  'FROM Client RETURN AVG(COUNT(orders)), COUNT(DISTINCT name) ORDER BY COUNT() TAKE 1',
  'FROM Client RETURN COUNT(), MIN(name), LIST{1, COUNT()} AS l, COUNT() IN (1, 2) AS few',
  'FROM Client c RETURN (FROM Order o WHERE o.client = c RETURN COUNT()) AS n',
  'FROM Client c RETURN c.name, (FROM c.orders o RETURN SUM(o.total + c.age)) AS n',
  'FROM Order GROUP BY client RETURN number, day, COUNT()',
  'FROM Order GROUP BY client HAVING number > 0 ORDER BY total RETURN COUNT()',
  'UPDATE Client WHERE age > 99 ORDER BY name TAKE 1 SET age TO 3 RETURN COUNT()',
]

async function told(db: QueryDatabase, text: string): Promise<string> {
  return (await db.failure(text, { p: 1 })).errors[0]?.message ?? ''
}

describe('beside an aggregate without GROUP BY', () => {
  it('an attribute is refused, and the GROUP BY of the error is the one to write', async () => {
    const { db, close } = await openQueryDatabase(shop)
    const wrong: string[] = []
    for (const [text, keys] of refused) {
      const { type, message } = await db.failure(text.replace('#', ''))
      const advice = `add GROUP BY ${keys} for one row each`
      if (type !== 'QueryError' || !message.includes(advice)) wrong.push(`${text}: ${message}`)
      await db
        .rows(text.replace('#', () => `GROUP BY ${keys}`))
        .catch((error: Error) => wrong.push(`${text}: ${error.message}`))
    }
    expect(wrong).toEqual([])
    expect(await told(db, 'SELECT client.name, COUNT() FROM Order')).toBe(
      'client.name differs from row to row, and COUNT() is one value for all rows: add GROUP BY client.name for one row each, or write an aggregate of it such as MIN',
    )
    await close()
  })

  queryTest('what no groups are made by is refused too', shop, async (db) => {
    for (const text of [
      'MATCH w = (c:Client)-[:orders]->(o) RETURN w, COUNT(*)',
      'FROM Client, Item RETURN tags, COUNT()',
      'FROM (FROM Client RETURN name, tags) AS r RETURN r.tags, COUNT()',
      `FROM Client RETURN COUNT(), ${Array.from({ length: 300 }, (_, i) => `age + ${i} AS a${i}`).join(', ')}`,
    ]) {
      expect(await told(db, text)).toContain('write GROUP BY, or an aggregate of it such as COLLECT')
    }
  })

  queryTest('values that are the same for all rows are taken', shop, async (db) => {
    for (const text of taken) expect({ text, rows: await db.rows(text, { p: 1 }) }).toMatchObject({ text })
    expect(await db.rows("FROM Client RETURN COUNT() AS n, 'x' AS x")).toEqual([{ n: 4, x: 'x' }])
  })

  queryTest("the original's dialect has the first object's", shop, async (db) => {
    const rows = async (text: string): Promise<unknown[]> =>
      await rowValues(await db.fd.query({ text, dialect: 'objectivity' }))
    expect(await rows('FROM Client RETURN name, COUNT() AS n')).toEqual([
      { __class__: '_Projection', name: 'Ann', n: 4 },
    ])
    expect(await rows("MATCH (c:Client {name: 'Ann'})-[:orders]->(o) RETURN c.name AS who, COUNT(*) AS n")).toEqual([
      { __class__: '_Projection', who: 'Ann', n: 2 },
    ])
    // Plans are kept by dialect.
    expect((await db.failure('FROM Client RETURN name, COUNT() AS n')).type).toBe('QueryError')
  })
})

describe('a constant alone', () => {
  /** « stands before the place that the error names. */
  const constants: readonly (readonly [text: string, says: string])[] = [
    [
      'FROM Client ORDER BY «$p DESC RETURN name, age',
      "ORDER BY takes a column's name or an expression, and $p is the same for all rows: write the name into the statement, or choose it by CASE $p WHEN 'name' THEN name END",
    ],
    ['SELECT age FROM Client ORDER BY «$p', "choose it by CASE $p WHEN 'age' THEN age END"],
    ['FROM Client ORDER BY «$n RETURN name', 'and $n is the same for all rows'],
    ['FROM Client ORDER BY name, «$p RETURN name', 'and $p is the same for all rows'],
    ['FROM Client ORDER BY «1 + 1 RETURN name', 'which a constant is not'],
    ['FROM Client ORDER BY «$$NOW RETURN name', 'which a constant is not'],
    ['FROM Client ORDER BY «null RETURN name', 'which a constant is not'],
    ['FROM Client ORDER BY «UPPER($p) RETURN name', 'which a constant is not'],
    ['FROM Client ORDER BY «(FROM Order RETURN MAX(number)) RETURN name', 'which a constant is not'],
    ['FROM Client GROUP BY «$p RETURN COUNT()', 'GROUP BY takes an expression, and $p is the same for all rows'],
    [
      "FROM Client GROUP BY «'name' RETURN COUNT()",
      'GROUP BY takes an expression, which a constant is not: names stand',
    ],
    ['FROM Client GROUP BY «2 RETURN COUNT(), age', "not a column's number: column 2 is 'age': GROUP BY age"],
    ['FROM Client GROUP BY age, «$p RETURN COUNT()', 'and $p is the same for all rows'],
    ['MATCH (c:Client) ORDER BY «$p RETURN c.name', 'and $p is the same for all rows'],
    ['MATCH (c:Client) GROUP BY «$p RETURN COUNT()', 'and $p is the same for all rows'],
    ['FROM Client c, Order o ORDER BY «$p RETURN c.name', 'and $p is the same for all rows'],
    ['FROM Client RETURN orders{number ORDER BY «$p}', 'and $p is the same for all rows'],
    ['FROM Client RETURN RANK() OVER (ORDER BY «$p) AS r', 'and $p is the same for all rows'],
    ['FROM Client RETURN COUNT() OVER (PARTITION BY «$p) AS r', 'PARTITION BY takes an expression, and $p is the same'],
    ['FROM Client RETURN name UNION ALL FROM Item RETURN title ORDER BY «$p', 'and $p is the same for all rows'],
    ['UPDATE Client ORDER BY «$p TAKE 1 SET age TO 3', 'and $p is the same for all rows'],
    ['DELETE Client ORDER BY «$p TAKE 1', 'and $p is the same for all rows'],
    [
      'FROM Client c RETURN (FROM Order o ORDER BY «c.name RETURN o.number) AS n',
      'and c.name is the same for all rows',
    ],
  ]

  queryTest('is refused where rows are ordered or grouped by it', shop, async (db) => {
    for (const [marked, says] of constants) {
      const text = marked.replace('«', '')
      const { type, message, extensions } = await db.failure(text, { p: 'name', n: 1 })
      expect({ text, type, message, column: extensions.column }).toEqual({
        text,
        type: 'QueryError',
        message: expect.stringContaining(says),
        column: marked.indexOf('«') + 1,
      })
    }
  })

  queryTest('is taken as a column that has a name, and in an expression of the rows', shop, async (db) => {
    const names = async (text: string): Promise<unknown[]> =>
      (await db.rows(text, { p: 'name' })).map(({ name }) => name)
    expect(await names("FROM Client ORDER BY name DESC, kind RETURN name, 'c' AS kind")).toEqual([
      'Dunn Ltd',
      'Cleo',
      'Bob',
      'Ann',
    ])
    expect(await names("FROM Client ORDER BY CASE $p WHEN 'name' THEN name END DESC TAKE 1 RETURN name")).toEqual([
      'Dunn Ltd',
    ])
    expect(await db.rows('FROM Client ORDER BY RAND() RETURN name')).toHaveLength(4)
  })
})
