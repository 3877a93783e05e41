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
})
