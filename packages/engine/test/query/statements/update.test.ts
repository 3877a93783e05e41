/** UPDATE with SET, CLEAR, ADD and REMOVE (DO, sections 3 and 4). */
import { describe, expect } from 'vitest'
import { type QueryDatabase, queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

async function valueFor(db: QueryDatabase, name: string, expression: string): Promise<unknown> {
  const rows = await db.rows(`FROM Client WHERE name = '${name}' RETURN ${expression} AS found`)
  expect(rows).toHaveLength(1)
  return rows[0]?.found
}

/** UPDATE Client WHERE name = …, and what an expression is worth afterwards. */
async function expectAfter(db: QueryDatabase, actions: string, expression: string, wanted: unknown): Promise<void> {
  await db.rows(`UPDATE Client WHERE name = 'Ann' ${actions}`)
  expect({ actions, found: await valueFor(db, 'Ann', expression) }).toEqual({ actions, found: wanted })
}

describe('SET', () => {
  queryTest('reads old values on its right side', shop, async (db) => {
    await db.rows('UPDATE Client SET age TO age + 1')
    expect(await db.rows('FROM Client ORDER BY name RETURN age')).toEqual([
      { age: 31 },
      { age: 26 },
      { age: null },
      { age: 26 },
    ])
    await db.rows('CREATE Item {title: "swap", price: 1.0, count: 2}')
    await db.rows("UPDATE Item WHERE title = 'swap' SET price TO count SET count TO price")
    expect(await db.rows("FROM Item WHERE title = 'swap' RETURN price, count")).toEqual([{ price: 2, count: 1 }])
  })

  queryTest('gives values of every form', shop, async (db) => {
    await expectAfter(db, "SET name TO 'Ann'", 'name', 'Ann')
    await expectAfter(db, 'SET age TO null', 'age', null)
    await expectAfter(db, "SET tags TO LIST{'x'}", 'tags', ['x'])
    await expectAfter(db, "SET tags TO LIST{'y', 'z'}", 'tags', ['y', 'z'])
    await expectAfter(db, "SET address.city TO 'Rome'", 'address.city', 'Rome')
    await expectAfter(db, 'SET address.zip TO address.zip + 1', 'address.zip', 151)
    await expectAfter(db, "SET address TO Address{city: 'Pisa'}", 'address.city + CAST(address.zip AS String)', 'Pisa0')
    await expectAfter(db, 'SET friends TO SET{(LOOKUP Client WHERE age = 25)}', 'COUNT(friends)', 1)
    await expectAfter(db, "SET byYear TO MAP{'a': CREATE Order {number: 9}}", "byYear['a'].number", 9)
  })

  queryTest('aims at an element, a range, or the elements that a predicate chooses', shop, async (db) => {
    await expectAfter(db, "SET tags[0] TO 'A'", 'tags', ['A', 'b', 'c'])
    await expectAfter(db, "SET tags[-1] TO 'C'", 'tags', ['A', 'b', 'C'])
    await expectAfter(db, "SET tags[0:2] TO LIST{'x', 'y'}", 'tags', ['x', 'y', 'C'])
    await expectAfter(db, "SET tags[1:] TO LIST{'z'}", 'tags', ['x', 'z'])
    await expectAfter(db, "SET homes[0].city TO 'Rome'", 'homes.city', ['Rome', 'Bergen'])
    await expectAfter(db, "SET homes[zip > 1000].city TO 'Pisa'", 'homes.city', ['Rome', 'Pisa'])
    await expectAfter(db, "SET homes[0:1].city TO 'Bern'", 'homes.city', ['Bern', 'Pisa'])
    await expectAfter(db, 'SET homes.zip TO age + 1', 'homes.zip', [31, 31])
    await expectAfter(db, 'SET orders[total > 10].total TO 11.0', 'SUM(orders.total)', 16)
    await expectAfter(db, "SET byYear['2024'] TO orders[0]", "byYear['2024'].number", 1)
  })

  queryTest('through a reference changes the other object', shop, async (db) => {
    await db.rows("UPDATE Order WHERE number = 1 SET client.name TO 'Anna'")
    expect(await valueFor(db, 'Anna', 'age')).toBe(30)
    await db.rows("UPDATE Client WHERE name = 'Anna' SET orders.day TO 2000-01-01")
    expect(await db.rows('FROM Order WHERE day = 2000-01-01 RETURN number')).toEqual([{ number: 1 }, { number: 2 }])
  })

  queryTest('keeps links in step on both sides', shop, async (db) => {
    await db.rows("UPDATE Order WHERE number IN LIST{1, 3} SET client TO (LOOKUP Client WHERE name = 'Cleo')")
    expect(await valueFor(db, 'Cleo', 'orders.number')).toEqual([1, 3])
    expect(await valueFor(db, 'Ann', 'orders.number')).toEqual([2])
    expect(await valueFor(db, 'Bob', 'orders')).toEqual([])
    await db.rows("UPDATE Client WHERE name = 'Bob' SET orders TO LIST{(LOOKUP Order WHERE number = 2)}")
    expect(await valueFor(db, 'Ann', 'COUNT(orders)')).toBe(0)
    expect(await db.rows('FROM Order WHERE number = 2 RETURN client.name AS who')).toEqual([{ who: 'Bob' }])
  })
})

describe('ADD', () => {
  queryTest('appends to a list, and is idempotent on a set', shop, async (db) => {
    await expectAfter(db, "ADD 'd' TO tags", 'tags', ['a', 'b', 'c', 'd'])
    await expectAfter(db, "ADD {'e', 'a'} TO tags", 'tags', ['a', 'b', 'c', 'd', 'e', 'a'])
    await expectAfter(db, "ADD LIST{'f'} TO tags", 'LENGTH(tags)', 7)
    await expectAfter(db, "ADD (LOOKUP Client WHERE name = 'Bob') TO friends", 'friends.name', ['Bob'])
    await expectAfter(db, "ADD (LOOKUP Client WHERE name = 'Bob') TO friends", 'friends.name', ['Bob'])
    await expectAfter(db, 'ADD CREATE Order {number: 8} TO orders', 'orders.number', [1, 2, 8])
    await expectAfter(db, "ADD Address{city: 'Rome'} TO homes", 'homes.city', ['Oslo', 'Bergen', 'Rome'])
    await expectAfter(db, "ADD {'a': orders[0], 'b': orders[1]} TO byYear", 'COUNT(byYear)', 2)
    await expectAfter(db, "ADD {'b': orders[0]} TO byYear", "byYear['b'].number", 1)
  })
})

describe('REMOVE', () => {
  queryTest('takes every equal element, keys, or an element by its place', shop, async (db) => {
    await expectAfter(db, "ADD {'a', 'z'} TO tags", 'tags', ['a', 'b', 'c', 'a', 'z'])
    await expectAfter(db, "REMOVE 'a' FROM tags", 'tags', ['b', 'c', 'z'])
    await expectAfter(db, "REMOVE {'c', 'none'} FROM tags", 'tags', ['b', 'z'])
    await expectAfter(db, 'REMOVE tags[0] FROM tags', 'tags', ['z'])
    await expectAfter(db, 'REMOVE orders[total > 10] FROM orders', 'orders.number', [2])
    await expectAfter(db, "ADD {'a': orders[0], 'b': orders[0]} TO byYear", 'COUNT(byYear)', 2)
    await expectAfter(
      db,
      "REMOVE KEYS {'a', 'none'} FROM byYear",
      "IS_NULL(byYear['a']) AND NOT IS_NULL(byYear['b'])",
      true,
    )
    await db.rows("UPDATE Client WHERE name = 'Cleo' REMOVE (LOOKUP Client WHERE name = 'Ann') FROM friends")
    expect(await valueFor(db, 'Cleo', 'friends.name')).toEqual(['Bob'])
    expect(await db.rows('FROM Order RETURN COUNT() AS n'), 'what was removed is not deleted').toEqual([{ n: 5 }])
  })

  queryTest(
    'and ADD reach a collection of one embedded element',
    [
      `UPDATE SCHEMA { CREATE CLASS Part EMBEDDABLE {name: String, sizes: List{Element: Integer{Storage: B64}}}
         CREATE CLASS Machine {number: Integer, parts: List{Element: Object{Class: Part}}} }`,
      "CREATE Machine {number: 1, parts: LIST{Part{name: 'a', sizes: LIST{1, 2}}, Part{name: 'b'}}}",
    ],
    async (db) => {
      const sizes = async (): Promise<unknown> => (await db.rows('FROM Machine RETURN parts.sizes AS s'))[0]?.s
      await db.rows('UPDATE Machine ADD {3, 9007199254740993} TO parts[0].sizes ADD LIST{7} TO parts[-1].sizes')
      expect(await db.rows('FROM Machine RETURN parts[0].sizes[3] = 9007199254740993 AS exact')).toEqual([
        { exact: true },
      ])
      await db.rows(
        'UPDATE Machine REMOVE {2, 9007199254740993} FROM parts[0].sizes SET parts[1].name TO parts[0].name',
      )
      expect(await sizes()).toEqual([1, 3, 7])
      expect((await db.failure('UPDATE Machine ADD 1 TO parts[5].sizes')).message).toMatch(
        /there is no element 5 among 2/,
      )
      expect((await db.failure('UPDATE Machine ADD 1 TO parts.sizes')).message).toMatch(/is not one collection/)
      expect(await db.rows('FROM Machine RETURN parts.name AS names')).toEqual([{ names: ['a', 'a'] }])
    },
  )

  queryTest('and ADD aim at exactly one collection', shop, async (db) => {
    for (const [action, message] of [
      ["ADD 'x' TO orders.items.title", /is not one collection/],
      ["REMOVE 'x' FROM name", /is not one collection/],
      ["ADD 'x' TO tags[0]", /is not one collection/],
      ["REMOVE KEYS {'x'} FROM tags", /has no keys/],
      ["ADD {'x': 1} TO tags", /takes no pairs/],
      ['ADD 5 TO tags', /an element of 'tags'/],
      ['SET age TO name', /'age' is/],
      ['SET LENGTH(name) TO 5', /is not an attribute that could be changed/],
      ["SET age TO 'old'", /'age': "old" is not an integer/],
      ['SET agge TO 5', /Did you mean age/],
    ] as const) {
      const error = await db.failure(`UPDATE Client ${action}`)
      expect({ action, type: error.type, message: error.message }).toEqual({
        action,
        type: 'QueryError',
        message: expect.stringMatching(message),
      })
    }
  })
})

describe('UPDATE', () => {
  queryTest('replies the objects changed, as they are afterwards, or what RETURN asks for', shop, async (db) => {
    const rows = await db.rows('UPDATE Client WHERE age = 25 SET age TO 26')
    expect(rows).toEqual(await db.rows('FROM Client WHERE age = 26 RETURN *'))
    expect(rows).toHaveLength(2)
    expect(await db.rows('UPDATE Client WHERE age = 26 SET age TO 27 RETURN COUNT() AS n')).toEqual([{ n: 2 }])
    expect(await db.rows('UPDATE Client WHERE age = 27 SET age TO 28 ORDER BY name DESC RETURN name, age')).toEqual([
      { name: 'Dunn Ltd', age: 28 },
      { name: 'Bob', age: 28 },
    ])
    expect(
      await db.rows(
        'UPDATE Client SET age TO 1 GROUP BY address.city ORDER BY address.city RETURN address.city AS city, COUNT() AS n',
      ),
    ).toEqual([
      { city: 'Bergen', n: 1 },
      { city: 'Oslo', n: 2 },
      { city: null, n: 1 },
    ])
    expect(await db.rows("UPDATE Client WHERE name = 'nobody' SET age TO 1")).toEqual([])
  })

  queryTest('is all or nothing', [...shop, 'CREATE UNIQUE INDEX clientName ON Client (name)'], async (db) => {
    expect((await db.failure("UPDATE Client SET name TO 'same'")).type).toBe('UniqueViolation')
    expect((await db.failure('UPDATE Client SET age TO age * 1000000000')).type).toBe('ValueNotAllowed')
    expect(await db.rows('FROM Client ORDER BY name RETURN name, age TAKE 1'.replace(' TAKE 1', ''))).toEqual([
      { name: 'Ann', age: 30 },
      { name: 'Bob', age: 25 },
      { name: 'Cleo', age: null },
      { name: 'Dunn Ltd', age: 25 },
    ])
    await db.rows("UPDATE Client SET name TO name + '!'")
    expect(await db.rows("FROM Client WHERE name = 'Bob!' RETURN age")).toEqual([{ age: 25 }])
  })

  queryTest(
    'sees each object once, however the index that finds it changes',
    [...shop, 'CREATE INDEX clientAge ON Client (age)'],
    async (db) => {
      await db.rows('UPDATE Client WHERE age > 0 SET age TO age + 1')
      expect(await db.rows('FROM Client WHERE age > 0 ORDER BY age RETURN age')).toEqual([
        { age: 26 },
        { age: 26 },
        { age: 31 },
      ])
    },
  )
})
