/** Paths, subscripts, and operators on collections and aggregates (DO, section 4). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'
import { expectRefusals, expectValues, expectValuesOf } from './expect-expressions.ts'

const ann = "Client WHERE name = 'Ann'"
const bob = "Client WHERE name = 'Bob'"

describe('paths', () => {
  queryTest('go through embedded objects, references and collections', shop, async (db) => {
    await expectValuesOf(db, ann, {
      'address.city': 'Oslo',
      'orders.number': [1, 2],
      'orders.items.title': ['pen', 'ink', 'pen', 'pen'],
      'homes.city': ['Oslo', 'Bergen'],
      'orders.client.name': ['Ann', 'Ann'],
      'orders[0].client.address.zip': 150,
      'friends.name': [],
      '$$ID.name': 'Ann',
      '$$THIS_REFERENCE = $$ID': true,
      'Client::name': 'Ann',
      '$$ID.Client::age': 30,
    })
    await expectValuesOf(db, bob, {
      'friends.orders.items.title': ['pen', 'ink', 'pen', 'pen'],
      'friends.tags': ['a', 'b', 'c'],
    })
    expect(await db.rows('FROM Order WHERE client.address.city = "Oslo" ORDER BY number RETURN number')).toEqual([
      { number: 1 },
      { number: 2 },
      { number: 4 },
    ])
  })

  queryTest('that no class has are refused with near names', shop, async (db) => {
    await expectRefusals(
      db,
      {
        'adress.city': [1, /Did you mean address/],
        'address.town': [9, /Shop\.Address has no attribute 'town'/],
        'name.first': [6, /a string has no 'first'/],
        'orders.nmber': [8, /Did you mean number/],
        taxNumber: [1, /its subclass Shop\.Company has: CAST/],
        'Order::name': [1, /Order::name/],
      },
      'FROM Client RETURN ',
    )
  })
})

describe('subscripts', () => {
  queryTest('choose by index, range, predicate and key', shop, async (db) => {
    await expectValues(
      db,
      {
        'LIST{1, 2, 3}[0]': 1,
        'LIST{1, 2, 3}[-1]': 3,
        'LIST{1, 2, 3}[3]': null,
        'LIST{1, 2, 3}[-4]': null,
        'LIST{1, 2, 3}[null]': null,
        'LIST{1, 2, 3}[1:]': [2, 3],
        'LIST{1, 2, 3}[:2]': [1, 2],
        'LIST{1, 2, 3}[:-1]': [1, 2],
        'LIST{1, 2, 3}[-2:]': [2, 3],
        'LIST{1, 2, 3}[:]': [1, 2, 3],
        'LIST{1, 2, 3}[2:1]': [],
        'LIST{1, 2, 3}[-10:10]': [1, 2, 3],
        'LIST{1, 2, 3}[1 + 1]': 3,
        'LIST{LIST{1}, LIST{2}}[1][0]': 2,
        '$o.a[1].b': 5,
      },
      { o: { a: [{ b: 4 }, { b: 5 }] } },
    )
    await expectValuesOf(db, ann, {
      'orders[total > 10].number': [1],
      'orders[client.name = "Ann" AND number > 1].total': [5],
      'homes[city = "Bergen"][0].zip': 5003,
      'homes[zip > 0 AND zip < 1000].city': ['Oslo'],
      'orders[items ANY (price > 5)].number': [1],
      'tags[LENGTH(name) - 1]': 'c',
      "byYear['x']": null,
    })
    await expectRefusals(
      db,
      {
        'name[0]': [1, /a string has no elements/],
        'friends[0]': [9, /the elements of a set have no order/],
        "tags['a']": [6, /takes an index or a predicate, not a string/],
        'friends[0:1]': [1, /has no ranges of elements/],
      },
      'FROM Client RETURN ',
    )
  })
})

describe('operators on collections', () => {
  queryTest('COUNT, LENGTH, IS_EMPTY and IN', shop, async (db) => {
    await expectValues(
      db,
      {
        'COUNT(LIST{1, null, 3})': 3,
        'LENGTH(LIST{1, 2})': 2,
        'IS_EMPTY(LIST{})': true,
        'IS_EMPTY(LIST{1})': false,
        '2 IN LIST{1, 2}': true,
        '5 IN LIST{1, 2}': false,
        "'b' IN LIST{'a', 'b'}": true,
        '2.0 IN LIST{1, 2}': true,
        'null IN LIST{1}': null,
        '5 IN LIST{1, null}': null,
        '1 IN LIST{1, null}': true,
        'NOT 5 IN LIST{1}': true,
        '1 IN LIST{}': false,
        'IN(2, LIST{2})': true,
        '2 IN $list': true,
        'LIST{1, 2} = LIST{1, 2}': true,
        'LIST{1, 2} = LIST{2, 1}': false,
      },
      { list: [1, 2] },
    )
    await expectValuesOf(db, ann, {
      'COUNT(orders)': 2,
      'COUNT(tags)': 3,
      "'b' IN tags": true,
      "'Bergen' IN homes.city": true,
      'orders[0] IN orders': true,
      'IS_EMPTY(friends)': true,
      'IS_EMPTY(byYear)': true,
    })
    expect(await db.rows("FROM Client WHERE 'b' IN tags RETURN name")).toEqual([{ name: 'Ann' }, { name: 'Bob' }])
  })

  queryTest('ANY_EQUAL, ALL_EQUAL, OF_EQUAL and SOME_EQUAL compare elements', shop, async (db) => {
    await expectValues(db, {
      'LIST{1, 2} ANY_EQUAL 2': true,
      'ANY_EQUAL(LIST{1, 2}, 3)': false,
      'LIST{2, 2} ALL_EQUAL 2': true,
      'LIST{1, 2} ALL_EQUAL 2': false,
      'LIST{} ALL_EQUAL 2': true,
      'LIST{} ANY_EQUAL 2': false,
      'OF_EQUAL(2, LIST{1, 2, 2}, 2)': true,
      'OF_EQUAL(3, LIST{1, 2, 2}, 2)': false,
      'SOME_EQUAL(1, LIST{1, 2, 2}, 2)': true,
      'OF_EQUAL(0, LIST{}, 2)': true,
    })
    await expectValuesOf(db, ann, { "tags ANY_EQUAL 'c'": true, "homes.city ALL_EQUAL 'Oslo'": false })
  })

  queryTest('ANY, ALL, OF and SOME ask the elements themselves', shop, async (db) => {
    const names = async (where: string): Promise<unknown[]> => {
      return (await db.rows(`FROM Client WHERE ${where} ORDER BY name RETURN name`)).map(({ name }) => name)
    }
    expect(await names('orders ANY (total > 10)')).toEqual(['Ann', 'Bob'])
    expect(await names('ANY(orders, total > 10)')).toEqual(['Ann', 'Bob'])
    expect(await names('NOT IS_EMPTY(orders) AND orders ALL (total > 10)')).toEqual(['Bob'])
    expect(await names('OF(2, orders, total > 1)')).toEqual(['Ann'])
    expect(await names('SOME(1, orders, items ANY (title = "ink"))')).toEqual(['Ann', 'Bob'])
    expect(await names("homes ANY (city = 'Bergen')")).toEqual(['Ann'])
    expect(await names('friends ANY (orders ANY (number = 3))')).toEqual(['Cleo'])
    await expectRefusals(
      db,
      { 'tags ANY (true)': [10, /references or embedded objects/] },
      'FROM Client WHERE ',
      ' RETURN *',
    )
  })

  queryTest('nothing but collections is taken', shop, async (db) => {
    await expectRefusals(db, {
      'IS_EMPTY(5)': [10, /IS_EMPTY takes a collection, not an integer/],
      'COUNT(5, 6)': [1, /COUNT/],
      '1 IN 5': [6, /IN is followed by a collection/],
      "1 IN LIST{'a'}": [6, /integer/],
    })
  })
})

describe('aggregates', () => {
  queryTest('over a collection are worked out for each object', shop, async (db) => {
    await expectValuesOf(db, ann, {
      'SUM(orders.total)': 17.5,
      'AVG(orders.total)': 8.75,
      'MIN(orders.total)': 5,
      'MAX(orders.day)': '2024-02-10',
      'COUNT(orders.items)': 4,
      'SUM(orders.items.price)': 17.5,
    })
    await expectValues(db, {
      'SUM(LIST{1, 2, null})': 3,
      'AVG(LIST{1, 2})': 1.5,
      'AVG(LIST{})': null,
      'MIN(LIST{3, 1, null})': 1,
      "MAX(LIST{'a', 'b'})": 'b',
      'COUNT(LIST{})': 0,
    })
  })

  queryTest('nest: over the objects, of what is over their collections', shop, async (db) => {
    expect(
      await db.rows(
        'FROM Client RETURN AVG(COUNT(orders)) AS mean, MAX(SUM(orders.total)) AS most, SUM(COUNT(tags)) AS tags',
      ),
    ).toEqual([{ mean: 1, most: 20, tags: 4 }])
    expect(await db.rows('FROM Order RETURN COLLECT(number) AS numbers')).toEqual([{ numbers: [1, 2, 3, 4, 5] }])
    expect(await db.rows('FROM Client GROUP BY age ORDER BY age RETURN COLLECT(name) AS names')).toEqual([
      { names: ['Bob', 'Dunn Ltd'] },
      { names: ['Ann'] },
      { names: ['Cleo'] },
    ])
  })

  queryTest('have no place in WHERE over the objects, and add numbers alone', shop, async (db) => {
    await expectRefusals(db, { 'COUNT() > 1': [1, /COUNT/] }, 'FROM Client WHERE ', ' RETURN *')
    await expectRefusals(db, { 'SUM(name)': [1, /SUM/] }, 'FROM Client RETURN ')
    expect(await db.rows('FROM Client WHERE COUNT(orders) > 1 RETURN name')).toEqual([{ name: 'Ann' }])
  })
})
