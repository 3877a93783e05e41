/** CREATE, nested ones among them (DO, sections 1, 3 and 4). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shopSchema } from '../shop.ts'

describe('CREATE', () => {
  queryTest('replies the class and OID of the new object', [shopSchema], async (db) => {
    const rows = await db.rows("CREATE Shop.Client {name: 'Eve', age: 20 + 2}")
    expect(rows).toEqual([{ __class__: 'Shop.Client', __identifier__: expect.stringMatching(/^\d+-\d+-\d+-\d+$/) }])
    expect(await db.rows('FROM Client RETURN $$ID AS oid, name, age')).toEqual([
      { oid: rows[0]?.__identifier__, name: 'Eve', age: 22 },
    ])
    await db.rows('CREATE Client {}')
    expect(await db.rows('FROM Client WHERE age = 0 RETURN name, tags')).toEqual([{ name: '', tags: [] }])
  })

  queryTest('takes values of every form, and targets within embedded objects', [shopSchema], async (db) => {
    await db.rows(`CREATE Client {
      name: 'Eve', address.city: 'Oslo', address.zip: 150, tags: LIST{'x', 'y'}, homes: LIST{Address{city: 'A'}, Address{zip: 7}},
      orders: LIST{CREATE Order {number: 1}, CREATE Order {number: 2, items: LIST{CREATE Item {title: 'pen'}}}},
      byYear: MAP{'2024': CREATE Order {number: 3}}
    }`)
    const [eve] = await db.rows('FROM Client RETURN *')
    expect(eve).toMatchObject({
      address: { city: 'Oslo', zip: 150 },
      tags: ['x', 'y'],
      homes: [
        { city: 'A', zip: 0 },
        { city: '', zip: 7 },
      ],
    })
    expect(
      await db.rows('FROM Order ORDER BY number RETURN number, client.name AS who, items[0].title AS what'),
    ).toEqual([
      { number: 1, who: 'Eve', what: null },
      { number: 2, who: 'Eve', what: 'pen' },
      { number: 3, who: null, what: null },
    ])
    expect(await db.rows("FROM Client RETURN byYear['2024'].number AS n, byYear['2023'] AS none")).toEqual([
      { n: 3, none: null },
    ])
  })

  queryTest('keeps both sides of a link in step', [shopSchema], async (db) => {
    await db.rows(
      "LET eve = CREATE Client {name: 'Eve'}; CREATE Order {number: 1, client: $eve}; CREATE Order {number: 2, client: $eve}",
    )
    expect(await db.rows('FROM Client RETURN orders.number AS numbers')).toEqual([{ numbers: [1, 2] }])
  })

  queryTest(
    'refuses what REST refuses, and nothing is left',
    [shopSchema, 'CREATE UNIQUE INDEX itemTitle ON Item (title)'],
    async (db) => {
      const refused: readonly (readonly [string, string, RegExp])[] = [
        ["CREATE Clint {name: 'a'}", 'QueryError', /Did you mean Client/],
        ["CREATE Client {nme: 'a'}", 'QueryError', /nme.*Did you mean name/],
        ["CREATE Client {age: 'old'}", 'QueryError', /age/],
        ['CREATE Client {age: 3000000000}', 'ValueNotAllowed', /age/],
        ["CREATE Client {name: 'a', name: 'b'}", 'QueryError', /name/],
        ["CREATE Address {city: 'a'}", 'QueryError', /embeddable/],
        ['CREATE Client {friends: SET{null}}', 'ValueNotAllowed', /friends/],
        ['CREATE Order {client: 9-9-9-9}', 'InvalidReference', /client/],
        [
          "CREATE Order {client: CREATE Item {title: 'x'}}",
          'InvalidReference',
          /client of class Shop.Order.*Shop.Item/,
        ],
        ["CREATE Item {title: 'a'}; CREATE Item {title: 'a'}", 'UniqueViolation', /itemTitle/],
        ["CREATE Client {address.town: 'a'}", 'QueryError', /town/],
        ["CREATE Client {name.first: 'a'}", 'QueryError', /name/],
      ]
      for (const [text, type, message] of refused) {
        const error = await db.failure(text)
        expect({ text, type: error.type, message: error.message }).toEqual({
          text,
          type,
          message: expect.stringMatching(message),
        })
      }
      for (const name of ['Client', 'Item', 'Order']) expect(await db.rows(`FROM ${name} RETURN *`), name).toEqual([])
    },
  )
})
