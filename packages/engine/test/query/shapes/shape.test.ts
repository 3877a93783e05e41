/** What shapes show of objects, and where they stand. */
import { expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

queryTest('shapes of references, lists of them, and what these refer to', shop, async (db) => {
  const rows = await db.rows(
    'FROM Client ORDER BY name TAKE 2 RETURN name, orders[total > 10]{number, items{title, price}} AS big, orders{number}',
  )
  const pen = { title: 'pen', price: 2.5 }
  const ink = { title: 'ink', price: 10 }
  expect(rows).toEqual([
    { name: 'Ann', big: [{ number: 1, items: [pen, ink] }], orders: [{ number: 1 }, { number: 2 }] },
    { name: 'Bob', big: [{ number: 3, items: [ink, ink] }], orders: [{ number: 3 }] },
  ])
  expect(await db.rows('SELECT number, client{name, address.city AS city} FROM Order ORDER BY number SKIP 3')).toEqual([
    { number: 4, client: { name: 'Dunn Ltd', city: 'Oslo' } },
    { number: 5, client: null },
  ])
})

queryTest('the clauses within a shape', shop, async (db) => {
  const shape = async (shape: string): Promise<unknown> => {
    return (await db.rows(`FROM Client WHERE name = 'Ann' RETURN ${shape} AS s`))[0]?.s
  }
  expect(await shape('orders{number ORDER BY total}')).toEqual([{ number: 2 }, { number: 1 }])
  expect(await shape('orders{number ORDER BY day DESC TAKE 1}')).toEqual([{ number: 2 }])
  expect(await shape('orders{number WHERE total < 10}')).toEqual([{ number: 2 }])
  expect(await shape('orders{number SKIP 1}')).toEqual([{ number: 2 }])
  expect(await shape('orders{number ORDER BY number DESC SKIP 1 TAKE 1}')).toEqual([{ number: 1 }])
  expect(await shape('orders{number TAKE 0}')).toEqual([])
  expect(await shape('orders.items{title WHERE price < 5 SKIP 1}')).toEqual([{ title: 'pen' }, { title: 'pen' }])
})

queryTest('shapes of embedded objects, sets and maps', shop, async (db) => {
  expect(
    await db.rows("FROM Client WHERE name = 'Ann' RETURN address{city}, homes{zip, city ORDER BY zip DESC}"),
  ).toEqual([
    {
      address: { city: 'Oslo' },
      homes: [
        { zip: 5003, city: 'Bergen' },
        { zip: 150, city: 'Oslo' },
      ],
    },
  ])
  expect(await db.rows("FROM Client WHERE name = 'Cleo' RETURN friends{name ORDER BY name}")).toEqual([
    { friends: [{ name: 'Ann' }, { name: 'Bob' }] },
  ])
  await db.rows(
    "UPDATE Client WHERE name = 'Ann' ADD {'24': (LOOKUP Order WHERE number = 2), 'none': null} TO byYear RETURN COUNT()",
  )
  expect(await db.rows("FROM Client WHERE name = 'Ann' RETURN byYear{number, client.name AS of}")).toEqual([
    { byYear: { 24: { number: 2, of: 'Ann' }, none: null } },
  ])
})

queryTest('whole objects, with more beside', shop, async (db) => {
  const [order] = await db.rows('FROM Order WHERE number = 4 RETURN *')
  expect(await db.rows('FROM Order WHERE number = 4 RETURN $$ID{*} AS o')).toEqual([{ o: order }])
  const [row] = await db.rows(
    "FROM Client WHERE name = 'Dunn Ltd' RETURN orders{*, COUNT(items) AS pieces, items{title}  AS of} AS o",
  )
  expect(row).toEqual({ o: [{ ...order, pieces: 1, of: [{ title: 'pen' }] }] })
  expect(await db.rows("FROM Client WHERE name = 'Bob' RETURN address{*}, address{*, 1 AS one} AS a")).toEqual([
    { address: { city: 'Bergen', zip: 0 }, a: { city: 'Bergen', zip: 0, one: 1 } },
  ])
})

queryTest('the names around a shape', shop, async (db) => {
  expect(
    await db.rows("FROM Client c WHERE name = 'Ann' RETURN orders{number, c.name AS of, $$ID = c AS same}"),
  ).toEqual([
    {
      orders: [
        { number: 1, of: 'Ann', same: false },
        { number: 2, of: 'Ann', same: false },
      ],
    },
  ])
  expect((await db.failure('FROM Client c RETURN orders{age}')).message).toContain("no attribute 'age'")
  expect(
    await db.rows("MATCH (c:Client {name: 'Bob'})-[:orders]->(o) RETURN o{number, items{title TAKE 1}}, c{name}"),
  ).toEqual([{ o: { number: 3, items: [{ title: 'ink' }] }, c: { name: 'Bob' } }])
  expect(
    await db.rows(
      "FROM Client c WHERE name = 'Bob' RETURN c{name, age}, (LOOKUP Order WHERE number = 1){total} AS one",
    ),
  ).toEqual([{ c: { name: 'Bob', age: 25 }, one: { total: 12.5 } }])
})

queryTest('shapes of groups, and of values that are kept', shop, async (db) => {
  expect(
    await db.rows('FROM Order WHERE number < 4 GROUP BY client ORDER BY client.name RETURN client{name}, COUNT() AS n'),
  ).toEqual([
    { client: { name: 'Ann' }, n: 2 },
    { client: { name: 'Bob' }, n: 1 },
  ])
  expect(
    await db.rows("LET x = (FROM Client WHERE name = 'Bob' RETURN name, orders{number}); SHOW $x.orders.number"),
  ).toEqual([[3]])
  expect(
    await db.rows("LET x = (FROM Client WHERE name = 'Bob' RETURN orders{number, items{title}}); SHOW $x"),
  ).toEqual([[[{ number: 3, items: [{ title: 'ink' }, { title: 'ink' }] }]]])
})

queryTest('an embedded value is none, and what is none is refused', shop, async (db) => {
  expect(await db.rows("FROM Order TAKE 1 RETURN Address{city: 'X'} AS a, Address{}")).toEqual([
    { a: { city: 'X', zip: 0 }, 'Address{}': { city: '', zip: 0 } },
  ])
  const mistakes = {
    'FROM Order RETURN total{number}': 'a shape is of an object',
    'FROM Client RETURN tags{name}': 'not of a list of string',
    'FROM Order RETURN client{name, name}': "two columns are called 'name'",
    'FROM Order RETURN client{*, name}': "the object has 'name' already",
    'FROM Order RETURN client{*, 1 AS taxNumber}': "the object has 'taxNumber' already",
    'FROM Order RETURN client{name WHERE age > 1}': 'a shape of one object has no WHERE',
    'FROM Client RETURN byYear{number TAKE 1}': 'a shape of a map has no WHERE',
    'FROM Client RETURN orders{number TAKE number}': 'an integer that is the same for all of them',
    'FROM Client RETURN orders{number TAKE -1}': 'a number of elements is 0 or more, not -1',
    'FROM Client RETURN orders{number SKIP WHILE total > 1}': 'SKIP and TAKE within a shape are numbers',
    'FROM Client RETURN orders{COUNT()}': 'COUNT',
    'FROM Client WHERE orders{number} RETURN name': 'a shape stands where a column does',
  }
  for (const [text, message] of Object.entries(mistakes)) {
    const error = await db.failure(text)
    expect({ text, message: error.message }).toEqual({ text, message: expect.stringContaining(message) })
    expect(['unprocessable', 'malformed']).toContain(error.kind)
  }
})
