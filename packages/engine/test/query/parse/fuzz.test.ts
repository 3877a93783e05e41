/** Any text at all: an error of the client at most, soon, and the stack holds. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AshlarError, errorCatalogue } from '../../../src/errors.ts'
import { parse } from '../../../src/query/parse/parse.ts'
import { openQueryDatabase } from '../query-database.ts'

const runs = Number(process.env.ASHLAR_RUNS ?? 1)

const schema = `UPDATE SCHEMA {
  CREATE CLASS Shop.Address EMBEDDABLE {city: String, zip: Integer}
  CREATE CLASS Shop.Client {name: String, age: Integer, address: Object{Class: Shop.Address}, tags: List{Element: String},
    orders: List{Element: Reference{Referenced: Shop.Order, Inverse: client}}}
  CREATE CLASS Shop.Order {total: Real, day: Date, client: Reference{Referenced: Shop.Client, Inverse: orders},
    byName: Map{Key: String, Element: Reference{Referenced: Shop.Client}}}
}`

/** One of every kind of statement: what mutations start from. */
const valid = [
  "FROM Client WHERE age >= 18 AND name =~~ '^a' ORDER BY name DESC, age SKIP 1 TAKE 2 RETURN name AS n, address.city",
  'FROM ONLY Order WHERE client.name IN LIST{"a", "b"} GROUP BY client HAVING COUNT() > 1 RETURN client, SUM(total)',
  "CREATE Client {name: 'a', address: Address{city: 'X'}, tags: LIST{'a', 'b'}, orders: LIST{CREATE Order {total: 1.5}}}",
  "UPDATE Client WHERE age = 1 SET age TO age + 1 ADD 'x' TO tags REMOVE 'y' FROM tags CLEAR address.city RETURN COUNT()",
  "UPDATE Order ADD {'k': client} TO byName REMOVE KEYS {'k'} FROM byName SET client TO (LOOKUP Client WHERE name = 'a')",
  "UPDATE Client SET age TO 1, tags[0:2] TO LIST{'p'}, address.city TO name, orders[total > 1].day TO null CLEAR tags[-1], orders[0:1]",
  "FOR EACH i IN LIST{1} => (UPDATE Client SET age TO $i, name TO 'x', IF TRUE THEN (UPDATE Order SET total TO 1.5, FROM Order RETURN *))",
  'FROM Client c RETURN c.name AS n, orders[total > 1]{day, client{*, age + 1 AS x} AS y WHERE total > 1 ORDER BY day DESC SKIP 1 TAKE 2}, address{zip}',
  'FROM Client c WHERE NOT EXISTS(FROM Order o WHERE o.client = c) OR EXISTS(MATCH (a:Client)-->(b) WHERE b = c) RETURN (FROM c.orders o RETURN SUM(o.total)) AS sum',
  'FROM Client c, Order AS o, (FROM Order GROUP BY client RETURN client AS of, SUM(total) AS s) AS r WHERE o.client = c AND r.of = c AND r.s > 1 RETURN c.name, r.s, total',
  'WITH s AS (FROM Order GROUP BY client RETURN client AS of, SUM(total) AS sum), m AS (FROM s RETURN MAX(sum) AS m) FROM s a, m WHERE a.sum = m.m RETURN *',
  'DELETE Order WHERE day < 2024-02-29 - INTERVAL{DAYS: 30} RETURN $$ID',
  'MATCH p = (c:Client {age: 1})-[o:orders*1..3]->(x:Order)<--(y) WHERE x.total > 1 RETURN p, c.name, y',
  'MATCH TRAIL p = WALK PATHS (c:Client)-->(x), SIMPLE PATH (x)--(y), ACYCLIC (y) RETURN p',
  "LET one = CREATE Client {name: 'one'}; FOR EACH i IN LIST{1, 2} => (IF $i = 1 THEN (SHOW $i) ELSE (SHOW $one))",
  'UPDATE SCHEMA { CREATE CLASS Other SUPERCLASS Client {a: List{Element: Integer{Storage: B8}}} ALTER CLASS Order {ADD b: Date} }',
  'CREATE UNIQUE INDEX byAge ON Client (age, address.zip); DROP INDEX byAge; SHOW CLASS Client; SHOW SCHEMA',
  "SHOW CAST('5' AS Integer) << 2 ^ 3 | ~4 = -5 XOR NOT true; EXPLAIN FROM Client TAKE WHILE age < 3 RETURN *",
  'FROM Client WHERE tags ANY (LENGTH($$ID.name) > 2) OR IS_EMPTY(orders[total > 1].day[0:2]) RETURN tags[-1], $p.a[0]',
]

const pieces = [
  ...new Set(valid.flatMap((text) => text.match(/\w+|\s|[^\w\s]+/g) ?? [])),
  '((',
  '/*',
  '//',
  "'",
  '"',
  '`',
  '\0',
  '$$',
  '::',
]

/** A valid statement with pieces cut out, doubled, moved or put in. */
const mutated = fc
  .tuple(
    fc.constantFrom(...valid),
    fc.array(
      fc.record({
        at: fc.nat(300),
        length: fc.nat(20),
        put: fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 3, unit: 'binary' }), fc.constant('')),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  )
  .map(([text, changes]) => {
    let changed = text
    for (const { at, length, put } of changes) {
      const from = at % (changed.length + 1)
      changed = changed.slice(0, from) + put + changed.slice(from + length)
    }
    return changed
  })

const anything = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  fc.array(fc.constantFrom(...pieces), { maxLength: 60 }).map((list) => list.join(' ')),
)

/** What a client has to answer for itself. */
const clientKinds = ['malformed', 'unprocessable', 'conflict', 'notFound']

function expectClientFault(error: unknown, text: string): void {
  if (!(error instanceof AshlarError)) throw new Error(`${String(error)} for ${JSON.stringify(text)}`, { cause: error })
  expect(clientKinds, `${error.type}: ${error.message}`).toContain(errorCatalogue[error.type].kind)
  expectPlace(error, text)
}

/** Each error points into the text. */
function expectPlace({ message, extensions, errors }: AshlarError, text: string): void {
  const { line, column, text: piece } = extensions as { line: number; column: number; text: string }
  const told = `${message} for ${JSON.stringify(text)}`
  expect(message.startsWith(`Line ${line}, column ${column}: `), told).toBe(true)
  const rest = text
    .split('\n')
    .slice(line - 1)
    .join('\n')
    .slice(column - 1)
  expect(rest.startsWith(piece.replace(/…$/, '')), told).toBe(true)
  expect(
    errors.map(({ place }) => place),
    told,
  ).toEqual([['query']])
}

function parses(text: string): boolean {
  try {
    parse(text)
    return true
  } catch (error) {
    expectClientFault(error, text)
    return false
  }
}

describe('any text', () => {
  it('parses, or is refused', () => {
    for (const text of valid) expect(parses(text), text).toBe(true)
    fc.assert(
      fc.property(anything, (text) => void parses(text)),
      { numRuns: 1_000 * runs },
    )
    fc.assert(
      fc.property(mutated, (text) => void parses(text)),
      { numRuns: 1_000 * runs },
    )
  })

  it('of any size and depth is read without exhausting the stack, and in time in proportion to it', () => {
    // Deeper than any stack, and long enough that time which grew faster would not end.
    const many = 15_000
    const repeated = [
      '(',
      '-',
      'NOT ',
      '!',
      '~',
      'a.',
      'a AND ',
      'a + ',
      'a = ',
      '[',
      'a[',
      "'",
      '"',
      '`',
      '/*',
      '// ',
      '/**/',
    ]
    const nested = [
      'LIST{',
      'SET{',
      'MAP{1: ',
      'UPPER(',
      'CAST(',
      '(LOOKUP A WHERE ',
      'CREATE A {a: ',
      'A{a: ',
      'INTERVAL{DAYS: ',
    ]
    for (const piece of [...repeated, ...nested, '$', '1 ', '1,', '😀', '\\', '\n', 'a::', '::', ';', '..']) {
      parses(`SHOW ${piece.repeat(many)}`)
      parses(`FROM A WHERE ${piece.repeat(many)}`)
    }
    const statements = [
      'IF true THEN (',
      'EXPLAIN ',
      'LET a = ',
      'FOR EACH a IN b => (',
      'FROM ',
      'MATCH ',
      'UPDATE A ',
      'SET a TO ',
    ]
    for (const piece of [
      ...statements,
      'MATCH (a)',
      '(a)-->',
      'SHOW 1;',
      'List{Element: ',
      'ORDER BY ',
      'UPDATE SCHEMA {',
    ]) {
      parses(piece.repeat(many))
    }
    expect(parses(`UPDATE A SET ${'a[0] TO b, '.repeat(many)}a TO b`)).toBe(true)
    expect(parses(`UPDATE A SET a TO b, ${'a['.repeat(many)}`)).toBe(false)
    expect(parses(`SHOW ${'1 + '.repeat(499)}1`)).toBe(true)
    expect(parses(`SHOW ${'a OR '.repeat(many)}a`)).toBe(true)
    expect(parses(`SHOW ${'('.repeat(90)}1${')'.repeat(90)}`)).toBe(true)
    expect(parses(`SHOW ${'//\n'.repeat(many)}1`)).toBe(true)
    expect(parses(`SHOW ${' /* a */ // b\n'.repeat(many)}1`)).toBe(true)
    expect(parses(`SHOW '${"\\'".repeat(many)}'`)).toBe(true)
  })

  it('is run, or refused by an error of the client, and leaves the data consistent', async () => {
    const { db, close } = await openQueryDatabase([schema])
    await fc.assert(
      fc.asyncProperty(fc.oneof(mutated, anything), async (text) => {
        try {
          await db.rows(text, { p: { a: [1] } })
        } catch (error) {
          expectClientFault(error, text)
        }
      }),
      { numRuns: 300 * runs },
    )
    await close()
  })
})
