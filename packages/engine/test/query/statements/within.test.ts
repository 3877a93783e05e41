/** Statements within others that name the rows around them, and EXISTS of statements. */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

describe('a statement within another', () => {
  queryTest('sees the names of the rows around it', shop, async (db) => {
    const nums = '(FROM Order o WHERE o.client = c ORDER BY number RETURN number) AS nums'
    expect(await db.rows(`FROM Client c ORDER BY name RETURN name, ${nums}`)).toEqual([
      { name: 'Ann', nums: [1, 2] },
      { name: 'Bob', nums: [3] },
      { name: 'Cleo', nums: [] },
      { name: 'Dunn Ltd', nums: [4] },
    ])
    expect(
      await db.rows(
        'FROM Order o WHERE total >= (FROM Order p WHERE p.client = o.client RETURN AVG(p.total)) ORDER BY number RETURN number',
      ),
    ).toEqual([{ number: 1 }, { number: 3 }, { number: 4 }])
    expect(
      await db.rows("FROM Client c WHERE name = 'Bob' RETURN (LOOKUP Client d WHERE d.age > c.age).name AS older"),
    ).toEqual([{ older: 'Ann' }])
  })

  queryTest('sees names through several statements', shop, async (db) => {
    const within =
      '(FROM Order o WHERE o.client = c AND EXISTS(FROM Item i WHERE i IN o.items AND i.price > c.age / 10) RETURN number) AS nums'
    expect(
      await db.rows(`FROM Client c WHERE name IN LIST{'Ann', 'Bob'} ORDER BY name RETURN name, ${within}`),
    ).toEqual([
      { name: 'Ann', nums: [1] },
      { name: 'Bob', nums: [3] },
    ])
  })

  queryTest('gives records of several columns, and one value of aggregates', shop, async (db) => {
    expect(
      await db.rows(
        "FROM Client c WHERE name = 'Ann' RETURN (FROM Order o WHERE client = c ORDER BY number RETURN number, items{title}) AS o, (FROM Order o WHERE client = c RETURN SUM(total)) AS sum",
      ),
    ).toEqual([
      {
        o: [
          { number: 1, items: [{ title: 'pen' }, { title: 'ink' }] },
          { number: 2, items: [{ title: 'pen' }, { title: 'pen' }] },
        ],
        sum: 17.5,
      },
    ])
  })

  queryTest('is found in patterns, groups, orders and changes', shop, async (db) => {
    expect(
      await db.rows(
        'FROM Client c ORDER BY (FROM Order o WHERE o.client = c RETURN COUNT()) DESC, name RETURN name TAKE 2',
      ),
    ).toEqual([{ name: 'Ann' }, { name: 'Bob' }])
    expect(
      await db.rows(
        "MATCH (c:Client)-[:orders]->(o) WHERE NOT EXISTS(FROM Order p WHERE p.client = c AND p.total > o.total) AND c.name = 'Ann' RETURN o.number",
      ),
    ).toEqual([{ 'o.number': 1 }])
    await db.rows('UPDATE Client c SET age TO (FROM Order o WHERE o.client = c RETURN COUNT())')
    expect(await db.rows('FROM Client ORDER BY name RETURN age')).toEqual([
      { age: 2 },
      { age: 1 },
      { age: 0 },
      { age: 1 },
    ])
    expect(await db.rows('DELETE Client c WHERE NOT EXISTS(FROM Order o WHERE o.client = c) RETURN name')).toEqual([
      { name: 'Cleo' },
    ])
  })

  queryTest('has paths of the rows around it as sources', shop, async (db) => {
    const text =
      'FROM Client c WHERE EXISTS(FROM c.orders o WHERE o.total > 10) ORDER BY name RETURN name, (FROM c.orders AS o WHERE o.number != 1 RETURN o.number) AS n'
    expect(await db.rows(text)).toEqual([
      { name: 'Ann', n: [2] },
      { name: 'Bob', n: [3] },
    ])
  })

  queryTest('is one value where it is compared with one', shop, async (db) => {
    const compared =
      "FROM Client c WHERE age = (FROM Client d WHERE d.name = 'Bob' RETURN d.age) ORDER BY name RETURN name"
    expect(await db.rows(compared)).toEqual([{ name: 'Bob' }, { name: 'Dunn Ltd' }])
    expect(
      await db.rows('FROM Client c WHERE 3 = (FROM Order o WHERE o.client = c RETURN number TAKE 1) RETURN name'),
    ).toEqual([{ name: 'Bob' }])
    expect(
      await db.rows('FROM Client c WHERE 2 IN (FROM Order o WHERE o.client = c RETURN number) RETURN name'),
    ).toEqual([{ name: 'Ann' }])
    const error = await db.failure(
      'FROM Client c WHERE 3 = (FROM Order o WHERE o.client = c RETURN number) RETURN name',
    )
    expect([error.kind, error.message]).toEqual([
      'unprocessable',
      expect.stringContaining('the statement has several rows'),
    ])
  })

  queryTest('is planned once, and shown with how often it was run', shop, async (db) => {
    const statement = 'FROM Client c WHERE EXISTS(FROM Order o WHERE o.client = c) RETURN name'
    const [planned] = await db.rows(`EXPLAIN ${statement}`)
    expect(planned).toMatchObject({ operator: 'return', nested: [{ statement: 'FROM Order o WHERE o.client = c' }] })
    expect(await db.analyze(statement)).toMatchObject({ returned: 3, nested: [{ loops: 4 }] })
  })

  queryTest('without names from around is carried out once', shop, async (db) => {
    expect(
      await db.rows("FROM Client c WHERE name = 'Ann' RETURN (FROM Order WHERE number < 3 RETURN number) AS n"),
    ).toEqual([{ n: [1, 2] }])
    expect((await db.failure('FROM Client RETURN (FROM Order WHERE name = 1 RETURN number) AS n')).message).toContain(
      "no attribute 'name'",
    )
  })
})

describe('EXISTS', () => {
  queryTest('of a statement', shop, async (db) => {
    const names = async (where: string): Promise<unknown[]> => {
      return (await db.rows(`FROM Client c WHERE ${where} ORDER BY name RETURN name`)).map(({ name }) => name)
    }
    expect(await names('EXISTS(FROM Order o WHERE o.client = c AND total > 10)')).toEqual(['Ann', 'Bob'])
    expect(await names('NOT EXISTS(FROM Order o WHERE o.client = c RETURN *)')).toEqual(['Cleo'])
    expect(await names('EXISTS((FROM Order o WHERE o.client = c SKIP 1 RETURN number))')).toEqual(['Ann'])
    expect(await names('EXISTS(LOOKUP Order o WHERE o.client = c AND number = 4)')).toEqual(['Dunn Ltd'])
    expect(
      await names('EXISTS(SELECT number FROM Order o WHERE o.client = c ORDER BY number SKIP WHILE number < 2 TAKE 1)'),
    ).toEqual(['Ann', 'Bob', 'Dunn Ltd'])
    expect(await names('EXISTS(FROM Order o WHERE o.client = c GROUP BY day HAVING COUNT() > 5)')).toEqual([])
    expect(await names('EXISTS(FROM Order WHERE number = 99)')).toEqual([])
    expect(await names('EXISTS(FROM Order WHERE number = 1)')).toHaveLength(4)
  })

  queryTest('of a pattern', shop, async (db) => {
    const text = 'FROM Client c WHERE EXISTS(MATCH (d:Client)-[:friends]->(e) WHERE e = c) ORDER BY name RETURN name'
    expect(await db.rows(text)).toEqual([{ name: 'Ann' }, { name: 'Bob' }])
    const none =
      'FROM Client c WHERE NOT EXISTS(MATCH (o:Order)-[:items]->(i:Item) WHERE o.client = c AND i.price > 5 RETURN i) ORDER BY name RETURN name'
    expect(await db.rows(none)).toEqual([{ name: 'Cleo' }, { name: 'Dunn Ltd' }])
  })
})
