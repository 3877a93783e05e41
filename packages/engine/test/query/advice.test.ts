/** What an error advises works, and what it says is not there is not: each hint of the parser beside the form that it names. */
import { expect, it } from 'vitest'
import * as hintsOfParser from '../../src/query/parse/hints.ts'
import { parse } from '../../src/query/parse/parse.ts'
import { openQueryDatabase } from './query-database.ts'

const schema = `UPDATE SCHEMA {
  CREATE CLASS Client {name: String, age: Integer, orders: List{Element: Reference{Referenced: Order}}}
  CREATE CLASS Order {number: Integer, client: Reference{Referenced: Client}}
  CREATE CLASS Old {a: Integer}
}`

/** A text with the word that the hint is about, what the hint says, and texts as it has them. */
const hints: readonly (readonly [wrong: string, says: string, ...right: string[]])[] = [
  ['INSERT INTO Client (name) VALUES (1)', 'CREATE C {a: v}', "CREATE Client {name: 'Ann'}"],
  [
    'ALTER CLASS Client {ADD b: Integer}',
    'UPDATE SCHEMA { ALTER CLASS C {ADD a: Integer} }',
    'UPDATE SCHEMA { ALTER CLASS Client {ADD b: Integer} }',
  ],
  [
    'FROM Client WHERE true HAVING COUNT() > 1 RETURN name',
    'HAVING follows GROUP BY',
    'FROM Client GROUP BY name HAVING COUNT() > 1 RETURN name',
  ],
  ...['JOIN', 'INNER JOIN', 'CROSS JOIN'].map(
    (join) =>
      [
        `FROM Order ${join} Client RETURN number`,
        'by paths, as in client.name, or by MATCH',
        'FROM Order RETURN client.name',
        'MATCH (o:Order)-[:client]->(c) RETURN c.name',
      ] as const,
  ),
  [
    'UPDATE SCHEMA { CREATE CLASS Sub EXTENDS Client {} }',
    'CREATE CLASS C SUPERCLASS B {…}',
    'UPDATE SCHEMA { CREATE CLASS Sub SUPERCLASS Client {} }',
  ],
  ['RENAME CLASS Old TO New', 'UPDATE SCHEMA { RENAME CLASS C TO D }', 'UPDATE SCHEMA { RENAME CLASS Old TO New }'],
  ['FROM Client WHERE age =< 1 RETURN name', 'at most is written <=', 'FROM Client WHERE age <= 1 RETURN name'],
  ['FROM Client WHERE age => 1 RETURN name', 'at least is written >=', 'FROM Client WHERE age >= 1 RETURN name'],
  ['FROM Client WHERE age === 1 RETURN name', 'there is no ===: == compares', 'FROM Client WHERE age == 1 RETURN name'],
  ['FROM Client WHERE age !== 1 RETURN name', 'there is no !==: != compares', 'FROM Client WHERE age != 1 RETURN name'],
  [
    'MATCH (o:Order)->(c) RETURN c.name',
    'an edge is written -->, <-- or -[…]->',
    'MATCH (o:Order)-->(c) RETURN c.name',
    'MATCH (c)<--(o:Order) RETURN c.name',
    'MATCH (o:Order)-[:client]->(c) RETURN c.name',
  ],
  ['FROM Client RETURN name WHERE age > 1', 'WHERE stands before RETURN', 'FROM Client WHERE age > 1 RETURN name'],
  ['FROM Client RETURN name GROUP BY name', 'GROUP BY stands before RETURN', 'FROM Client GROUP BY name RETURN name'],
  [
    'FROM Client RETURN name HAVING COUNT() > 1',
    'HAVING stands before RETURN',
    'FROM Client GROUP BY name HAVING COUNT() > 1 RETURN name',
  ],
  [
    'MATCH (c:Client) RETURN c.name WHERE c.age > 1',
    'WHERE stands before RETURN',
    'MATCH (c:Client) WHERE c.age > 1 RETURN c.name',
  ],
  [
    'SELECT name FROM Client TAKE 1 WHERE age > 1',
    'clauses stand in the order WHERE, GROUP BY, HAVING, ORDER BY, SKIP and TAKE',
    'SELECT name FROM Client WHERE age > 1 GROUP BY name HAVING COUNT() > 0 ORDER BY name SKIP 0 TAKE 1',
  ],
  [
    'UPDATE Client SET age TO 1 WHERE age > 1',
    'WHERE stands before SET, CLEAR, ADD and REMOVE',
    'UPDATE Client WHERE age > 1 SET age TO 1',
    'UPDATE Client WHERE age > 1 CLEAR age',
    'UPDATE Client WHERE age > 100 ADD (LOOKUP Order WHERE number = 1) TO orders',
    'UPDATE Client WHERE age > 100 REMOVE (LOOKUP Order WHERE number = 1) FROM orders',
  ],
  [
    'FROM Client TAKE 1 ORDER BY name RETURN name',
    'ORDER BY stands before SKIP and TAKE',
    'FROM Client ORDER BY name TAKE 1 RETURN name',
  ],
  [
    'FROM Client TAKE 1 WHERE age > 1',
    'WHERE stands before GROUP BY, ORDER BY, SKIP and TAKE',
    'FROM Client WHERE age > 1 TAKE 1 RETURN name',
  ],
  [
    'FROM Client WHER age = 3 RETURN name',
    "'WHER' before it is read as the alias of the source",
    'FROM Client WHERE age = 3 RETURN name',
    'FROM Client WHER WHERE WHER.age = 3 RETURN name',
  ],
  [
    'FROM Client WHERE RETURN name',
    "'RETURN' before it is read as a name, since a value is missing there",
    'FROM Client WHERE true RETURN name',
  ],
]

it('each hint is true', async () => {
  const { db, close } = await openQueryDatabase([schema])
  const untrue: string[] = []
  for (const [wrong, says, ...rights] of hints) {
    const told = await db.failure(wrong).then(
      ({ message }) => message,
      (error: unknown) => `not refused: ${String(error)}`,
    )
    if (!told.includes(says)) untrue.push(`${wrong}\n  says: ${told}\n  not: ${says}`)
    for (const right of rights) {
      await db.rows(right).catch((error: Error) => untrue.push(`${right}\n  fails: ${error.message}`))
    }
  }
  expect(untrue).toEqual([])
  await close()
})

/** What each hint says is to be written. */
function statementsIn(hint: unknown): string[] {
  if (Array.isArray(hint)) return [hint[1] as string]
  return typeof hint === 'object' && hint !== null ? Object.values(hint).flatMap(statementsIn) : []
}

it('what a hint says is to be written is a statement', async () => {
  const written = Object.values(hintsOfParser).flatMap(statementsIn)
  expect(written.length).toBeGreaterThan(30)
  for (const text of written) expect({ text, statements: parse(text).length }).toEqual({ text, statements: 1 })
  const { db, close } = await openQueryDatabase([schema])
  const ofMessages = [
    'FROM Client RETURN {name}',
    'SHOW [1]',
    'FROM Client RETURN COUNT() FILTER (WHERE true)',
    'FROM Client FILTER age RETURN age',
    "FROM Client WHERE name ENDS WITH 'x' RETURN name",
    'FROM Client RETURN name EXCEPT FROM Order RETURN number',
    'FROM Client RETURN name INTERSECT FROM Order RETURN number',
    'SELECT Client {name, age}',
    'SELECT 1 + 1',
  ]
  for (const wrong of ofMessages) {
    const { message } = await db.failure(wrong)
    const text = /(?:FROM|SHOW) .*(?=; expected)/.exec(message.slice(message.indexOf(': ', 20)))?.[0] ?? message
    expect({ wrong, text, statements: parse(text).length }).toMatchObject({ wrong, statements: 1 })
  }
  for (const name of ['CLASS', 'GREATEST', 'LEAST', 'NULLIF', 'POWER', 'QUARTER', 'STRING_AGG']) {
    const { message } = await db.failure(`SHOW ${name}(1)`)
    const expression = /is written ([^,]*)/.exec(message)?.[1]?.replace(/\.$/, '') ?? ''
    expect({ name, statements: parse(`FROM C RETURN ${expression}`).length }).toEqual({ name, statements: 1 })
  }
  expect(await db.rows('SHOW LIST{CAST(NOW() AS Date) > 2020-01-01, (MONTH(2024-05-01) + 2) / 3 = 2}')).toEqual([
    [true, true],
  ])
  await close()
})

it('words of hints are names where they fit', async () => {
  const { db, close } = await openQueryDatabase([schema, "CREATE Client {name: 'Ann', age: 3}"])
  for (const alias of [
    'filter',
    'left',
    'right',
    'full',
    'cross',
    'except',
    'within',
    'starts',
    'unwind',
    'call',
    'rows',
  ]) {
    const text = `FROM Client ${alias} WHERE ${alias}.age = 3 RETURN ${alias}.name AS name`
    expect({ text, rows: await db.rows(text) }).toEqual({ text, rows: [{ name: 'Ann' }] })
  }
  await close()
})
