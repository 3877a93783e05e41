/** FROM several sources, and FROM rows of statements and variables. */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

describe('several sources', () => {
  queryTest('are joined by what is equal', shop, async (db) => {
    const text =
      'FROM Client c, Order o WHERE o.client = c AND o.total > 10 ORDER BY c.name, o.number RETURN c.name, o.number, total'
    expect(await db.rows(text)).toEqual([
      { 'c.name': 'Ann', 'o.number': 1, total: 12.5 },
      { 'c.name': 'Bob', 'o.number': 3, total: 20 },
    ])
    expect(
      await db.rows(
        'FROM Client a, Client b WHERE a.age = b.age AND a.name < b.name RETURN a.name AS one, b.name AS other',
      ),
    ).toEqual([{ one: 'Bob', other: 'Dunn Ltd' }])
  })

  queryTest('without a condition give each with each', shop, async (db) => {
    expect(await db.rows('FROM Client c, Item i RETURN COUNT() AS n')).toEqual([{ n: 8 }])
    expect(await db.rows('FROM Client c, Item i, Order o WHERE i.price > o.total RETURN COUNT() AS n')).toEqual([
      { n: 8 },
    ])
    expect(
      await db.rows(
        'SELECT i.title, COUNT() AS n FROM Item i, Order o WHERE o.total <= i.price GROUP BY i.title ORDER BY n',
      ),
    ).toEqual([
      { 'i.title': 'pen', n: 1 },
      { 'i.title': 'ink', n: 2 },
    ])
  })

  queryTest('of which RETURN * shows one object each, by alias', shop, async (db) => {
    const [client] = await db.rows("FROM Client WHERE name = 'Bob' RETURN *")
    const [order] = await db.rows('FROM Order WHERE number = 3 RETURN *')
    expect(
      await db.rows('FROM Client c, Order WHERE Order.client = c AND number = 3 RETURN *').catch(() => 'refused'),
    ).toBe('refused')
    expect(await db.rows('FROM Client c, Order o WHERE client = c AND number = 3 RETURN *')).toEqual([
      { c: client, o: order },
    ])
  })

  queryTest('are looked up by an index, else by a table', shop, async (db) => {
    const text = 'FROM Order o, Item i WHERE i.count = o.number ORDER BY o.number RETURN o.number, i.title'
    const expected = [{ 'o.number': 3, 'i.title': 'ink' }]
    await db.rows('FOR EACH n IN $numbers => (CREATE Item {title: "more", count: $n + 1000})', {
      numbers: Array.from({ length: 60 }, (_, n) => n),
    })
    expect((await db.failure(`FROM ${Array(17).fill('Item i').join()} RETURN *`)).message).toContain(
      'at most 16 sources',
    )
    expect(await db.rows(text)).toEqual(expected)
    expect(JSON.stringify(await db.rows(`EXPLAIN ${text}`))).toContain('hashJoin')
    await db.rows('CREATE INDEX itemCount ON Item (count)')
    expect(await db.rows(text)).toEqual(expected)
    expect(JSON.stringify(await db.rows(`EXPLAIN ${text}`))).toContain('itemCount')
    expect(JSON.stringify(await db.analyze(text))).toContain('lookupJoin')
  })

  queryTest('are told from statements that follow a comma', shop, async (db) => {
    await db.rows(
      'UPDATE SCHEMA { CREATE CLASS With {n: Integer} CREATE CLASS Show {n: Integer} }; CREATE With {n: 1}; CREATE Show {n: 2}',
    )
    expect(await db.rows('FROM With with, Show show RETURN with.n, show.n')).toEqual([{ 'with.n': 1, 'show.n': 2 }])
    expect(await db.rows('SELECT a.n FROM `With` a, `Show` b')).toEqual([{ 'a.n': 1 }])
    await db.rows(
      'FOR EACH i IN LIST{1} => (SELECT name FROM Client, CREATE With {n: 3}, SELECT title FROM Item i, Order o, CREATE With {n: 4})',
    )
    expect(await db.rows('FROM With ORDER BY n RETURN n')).toEqual([{ n: 1 }, { n: 3 }, { n: 4 }])
  })

  queryTest('name what belongs to several of them with an alias', shop, async (db) => {
    const error = await db.failure('FROM Client a, Client b WHERE name = 1 RETURN a.name')
    expect([error.kind, error.message]).toEqual([
      'unprocessable',
      expect.stringContaining("'name' belongs to several sources"),
    ])
    expect((await db.failure('FROM Client a, Order b WHERE nam = 1 RETURN a.name')).message).toContain(
      "no source has a 'nam'",
    )
    expect((await db.failure('FROM Client a, Order a RETURN a.name')).message).toContain("two sources are called 'a'")
  })

  queryTest('within statements and shapes', shop, async (db) => {
    expect(
      await db.rows(
        'FROM Item i WHERE EXISTS(FROM Order o, Client c WHERE o.client = c AND i IN o.items AND c.name = "Bob") RETURN title',
      ),
    ).toEqual([{ title: 'ink' }])
    expect(
      await db.rows(
        'FROM Client c, Order o WHERE o.client = c AND c.age > 25 ORDER BY o.number RETURN c{name}, o{number, items{title TAKE 1}}',
      ),
    ).toEqual([
      { c: { name: 'Ann' }, o: { number: 1, items: [{ title: 'pen' }] } },
      { c: { name: 'Ann' }, o: { number: 2, items: [{ title: 'pen' }] } },
    ])
  })
})

describe('WITH', () => {
  const sums = 'sums AS (FROM Order WHERE IS_VALID(client) GROUP BY client RETURN client AS of, SUM(total) AS sum)'

  queryTest('names rows for one statement', shop, async (db) => {
    expect(await db.rows(`WITH ${sums} FROM sums WHERE sum > 5 ORDER BY sums.sum RETURN of.name AS who, sum`)).toEqual([
      { who: 'Ann', sum: 17.5 },
      { who: 'Bob', sum: 20 },
    ])
    const twice = `WITH ${sums}, most AS (FROM sums RETURN MAX(sum) AS m) SELECT s.of.name AS who FROM sums s, most WHERE s.sum = most.m`
    expect(await db.rows(twice)).toEqual([{ who: 'Bob' }])
    expect(
      await db.rows(
        `WITH ${sums} MATCH (c:Client) WHERE EXISTS(FROM sums s WHERE s.of = c AND s.sum < 5) RETURN c.name`,
      ),
    ).toEqual([{ 'c.name': 'Dunn Ltd' }])
  })

  queryTest('hides a class, and is a value and a name elsewhere', shop, async (db) => {
    expect(await db.rows('WITH Client AS (FROM Item RETURN *) FROM Client ORDER BY title RETURN title')).toEqual([
      { title: 'ink' },
      { title: 'pen' },
    ])
    expect(
      await db.rows(
        "FROM Client c WHERE name = 'Ann' RETURN (WITH own AS (FROM Order o WHERE o.client = c RETURN number) FROM own a, own b RETURN COUNT()) AS n",
      ),
    ).toEqual([{ n: 4 }])
    expect((await db.failure(`WITH ${sums} FROM sums RETURN *; FROM sums RETURN *`)).message).toContain(
      "no class 'sums'",
    )
    expect((await db.failure('WITH a AS (FROM a RETURN *) FROM a RETURN *')).message).toContain("no class 'a'")
    expect((await db.failure("WITH a AS (CREATE Item {title: 'x'}) FROM a RETURN *")).kind).toBe('malformed')
    expect((await db.failure(`WITH ${sums} DELETE sums`)).message).toContain('expected FROM')
  })

  queryTest('is carried out once', shop, async (db) => {
    const plan = await db.analyze(
      `WITH ${sums}, two AS (FROM sums RETURN sum) FROM sums a, two b WHERE a.sum = b.sum AND EXISTS(FROM sums c WHERE c.of = a.of) RETURN COUNT()`,
    )
    const text = JSON.stringify(plan)
    expect(text.match(/FROM Order WHERE IS_VALID/g)).toHaveLength(1)
  })

  queryTest('cannot be made to grow without bound', shop, async (db) => {
    let text = 'WITH n0 AS (FROM Item RETURN *)'
    for (let i = 1; i < 40; i++) text += `, n${i} AS (FROM n${i - 1} a, n${i - 1} b RETURN a.title AS title)`
    expect((await db.failure(`${text} FROM n39 RETURN *`)).message).toContain('more than 100 times')
  })

  // Bound twice at each level, these would take longer than the sun burns.
  queryTest(
    'of names that go on from each other, and statements within each other, are bound once',
    shop,
    async (db) => {
      let chain = 'WITH n0 AS (FROM Item RETURN title, price)'
      for (let i = 1; i <= 60; i++) chain += `, n${i} AS (FROM n${i - 1} RETURN title, price)`
      expect(await db.rows(`${chain} FROM n60 ORDER BY title RETURN title`)).toEqual([
        { title: 'ink' },
        { title: 'pen' },
      ])
      const within = (statement: (inner: string) => string): string =>
        Array.from({ length: 30 }).reduce<string>(statement, 'FROM Item RETURN title, price')
      const counted = (rows: string): string => `FROM (${rows}) AS r RETURN COUNT() AS n`
      expect(await db.rows(counted(within((inner) => `FROM (${inner}) AS r RETURN *`)))).toEqual([{ n: 2 }])
      expect(await db.rows(counted(within((inner) => `FROM Item WHERE EXISTS(${inner}) RETURN title`)))).toEqual([
        { n: 2 },
      ])
      expect(await db.rows(counted(within((inner) => `FROM Item WHERE COUNT((${inner})) = 2 RETURN title`)))).toEqual([
        { n: 2 },
      ])
    },
  )
})

describe('rows as a source', () => {
  queryTest('of a statement', shop, async (db) => {
    const sums = '(FROM Order WHERE IS_VALID(client) GROUP BY client RETURN client.name AS who, SUM(total) AS sum)'
    expect(await db.rows(`FROM ${sums} AS r WHERE r.sum > 5 ORDER BY r.who RETURN r.who, sum`)).toEqual([
      { 'r.who': 'Ann', sum: 17.5 },
      { 'r.who': 'Bob', sum: 20 },
    ])
    expect(await db.rows(`FROM ${sums} RETURN COUNT() AS n, MAX(sum) AS most`)).toEqual([{ n: 3, most: 20 }])
    expect(await db.rows(`FROM ${sums} AS r ORDER BY who TAKE 1 RETURN *`)).toEqual([{ who: 'Ann', sum: 17.5 }])
    expect(
      await db.rows(
        'FROM (FROM Item ORDER BY price RETURN title) AS t WHERE t.title > "a" ORDER BY title RETURN t.title, title',
      ),
    ).toEqual([
      { 't.title': 'ink', title: 'ink' },
      { 't.title': 'pen', title: 'pen' },
    ])
  })

  queryTest('of a variable, and of a parameter', shop, async (db) => {
    const text =
      'LET rows = (FROM Order RETURN number, total, client); FROM $rows r WHERE r.client.name = "Ann" ORDER BY r.number DESC RETURN r.number'
    expect(await db.rows(text)).toEqual([{ 'r.number': 2 }, { 'r.number': 1 }])
    expect(
      await db.rows('FROM $given AS g WHERE g.n > 1 RETURN g.n, g.t', {
        given: [
          { n: 1, t: 'a' },
          { n: 2, t: 'b' },
        ],
      }),
    ).toEqual([{ 'g.n': 2, 'g.t': 'b' }])
    expect(await db.rows('FROM $numbers AS n WHERE n > 1 ORDER BY n DESC RETURN n', { numbers: [1, 2, 3] })).toEqual([
      { n: 3 },
      { n: 2 },
    ])
  })

  queryTest('of a statement that fails, where somebody takes the rows', shop, async (db) => {
    const failing = 'FROM Order RETURN number + 18446744073709551615 AS n'
    for (const text of [failing, `FROM (${failing}) AS r RETURN *`, `WITH r AS (${failing}) FROM r RETURN *`]) {
      expect((await db.failure(text)).message).toContain('the result is beyond what an integer holds')
    }
    expect(await db.rows(`FROM (${failing}) AS r RETURN *; SHOW 1`)).toEqual([1])
  })

  queryTest('as they come: no more are read than are taken', shop, async (db) => {
    const plan = await db.analyze('FROM (FROM Order RETURN number AS n) AS r TAKE 1 RETURN n')
    expect(plan.inputs?.at(-1)).toMatchObject({ operator: 'limit' })
    const failing =
      'FROM Order ORDER BY number RETURN CASE WHEN number = 1 THEN 1 ELSE number + 18446744073709551615 END AS n'
    expect(await db.rows(`FROM (${failing}) AS r TAKE 0 RETURN n`)).toEqual([])
  })

  queryTest('joined with objects', shop, async (db) => {
    const sums = '(FROM Order GROUP BY client RETURN client AS of, SUM(total) AS sum) AS s'
    expect(await db.rows(`FROM Client c, ${sums} WHERE s.of = c ORDER BY c.name RETURN c.name, s.sum`)).toEqual([
      { 'c.name': 'Ann', 's.sum': 17.5 },
      { 'c.name': 'Bob', 's.sum': 20 },
      { 'c.name': 'Dunn Ltd', 's.sum': 2.5 },
    ])
  })

  queryTest('of a statement that names the rows around it', shop, async (db) => {
    expect(
      await db.rows(
        'FROM Client c ORDER BY name TAKE 1 RETURN (FROM (FROM c.orders o RETURN o.total AS t, o.number AS n) AS r WHERE r.t > 10 RETURN r.n) AS big',
      ),
    ).toEqual([{ big: [1] }])
  })

  queryTest('whose only value is a list: one row that has it', shop, async (db) => {
    const collected = '(FROM Order WHERE number < 3 RETURN COLLECT(number) AS all)'
    for (const text of [
      `FROM ${collected} AS r RETURN r.all AS all`,
      `WITH r AS ${collected} FROM r RETURN r.all AS all`,
      'FROM (MATCH (o:Order {number < 3}) RETURN COLLECT(o.number) AS all) AS r RETURN r.all AS all',
    ]) {
      expect(await db.rows(text)).toEqual([{ all: [1, 2] }])
    }
    const twice = `WITH r AS ${collected} FROM r x, r y, Client c WHERE c.name = 'Ann' RETURN x.all AS one, y.all AS other, c.name AS who`
    expect(await db.rows(twice)).toEqual([{ one: [1, 2], other: [1, 2], who: 'Ann' }])
    const perRow = '(FROM (FROM c.orders o RETURN COLLECT(o.number) AS all) AS r RETURN r.all)'
    expect(await db.rows(`FROM Client c WHERE name = 'Ann' RETURN ${perRow} AS all`)).toEqual([{ all: [[1, 2]] }])
    // References are a source of objects, also as a list.
    expect(
      await db.rows('FROM (FROM Order WHERE number < 3 RETURN COLLECT($$ID)) ORDER BY number RETURN number'),
    ).toEqual([{ number: 1 }, { number: 2 }])
  })
})
