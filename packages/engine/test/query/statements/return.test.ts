/** FROM … RETURN and SELECT … FROM: sources, projections and their keys (DO, sections 1, 3 and 4). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from './shop.ts'

describe('a source', () => {
  queryTest('is all objects of a class and of its subclasses', shop, async (db) => {
    expect(await db.rows('FROM Client RETURN name')).toEqual(
      ['Ann', 'Bob', 'Cleo', 'Dunn Ltd'].map((name) => ({ name })),
    )
    expect(await db.rows('FROM Company RETURN name, taxNumber')).toEqual([{ name: 'Dunn Ltd', taxNumber: 77 }])
  })

  queryTest('with ONLY is those of the class itself', shop, async (db) => {
    expect(await db.rows('FROM ONLY Client RETURN name')).toEqual(['Ann', 'Bob', 'Cleo'].map((name) => ({ name })))
    expect(await db.rows('FROM ONLY Order RETURN COUNT() AS n')).toEqual([{ n: 5 }])
    expect(await db.rows('FROM ONLY Shop.Company RETURN COUNT() AS n')).toEqual([{ n: 1 }])
  })

  queryTest('may be a variable or a statement, whose class is known', shop, async (db) => {
    const [ann] = await db.rows("FROM Client WHERE name = 'Ann' RETURN $$ID AS oid")
    expect(await db.rows('FROM Client WHERE $$ID = $it RETURN name', { it: ann?.oid })).toEqual([{ name: 'Ann' }])
    const unknown = await db.failure(`FROM ${ann?.oid} RETURN name`)
    expect(unknown.message).toMatch(/the class of the objects is not known here: write FROM a class WHERE \$\$ID = …/)
    expect(await db.rows("FROM (LOOKUP Client WHERE name = 'Bob') RETURN age")).toEqual([{ age: 25 }])
    expect(
      await db.rows('LET some = FROM Client WHERE age = 25 RETURN *; FROM $some ORDER BY name RETURN name'),
    ).toEqual([{ name: 'Bob' }, { name: 'Dunn Ltd' }])
    expect(
      await db.rows("LET ann = (LOOKUP Client WHERE name = 'Ann'); FROM $ann.orders WHERE total < 10 RETURN number"),
    ).toEqual([{ number: 2 }])
  })

  queryTest('that is embeddable is refused', shop, async (db) => {
    const error = await db.failure('FROM Address RETURN *')
    expect(error).toMatchObject({ type: 'QueryError', extensions: { line: 1, column: 6, text: 'Address' } })
    expect(error.message).toMatch(/Shop\.Address is embeddable/)
  })
})

describe('WHERE', () => {
  queryTest('keeps those for which the predicate is true: null does not qualify', shop, async (db) => {
    expect(await db.rows('FROM Client WHERE age = 25 RETURN name')).toHaveLength(2)
    expect(await db.rows('FROM Client WHERE age != 25 RETURN name')).toEqual([{ name: 'Ann' }])
    expect(await db.rows('FROM Client WHERE NOT age = 25 RETURN name')).toEqual([{ name: 'Ann' }])
    expect(await db.rows('FROM Client WHERE null RETURN name')).toEqual([])
    expect(await db.rows('FROM Client WHERE age = null RETURN name')).toEqual([])
  })

  queryTest('takes a predicate, not a value', shop, async (db) => {
    const error = await db.failure('FROM Client WHERE age RETURN *')
    expect(error).toMatchObject({ type: 'QueryError', extensions: { line: 1, column: 19, text: 'age' } })
    expect(error.message).toMatch(/integer/)
  })
})

describe('RETURN', () => {
  queryTest('* gives the objects as they are read by OID', shop, async (db) => {
    const rows = await db.rows("FROM Client WHERE name = 'Dunn Ltd' RETURN *")
    expect(rows).toHaveLength(1)
    const [oid] = (await db.rows('FROM Company RETURN $$ID AS oid')).map((row) => row.oid as string)
    expect(rows[0]).toEqual(JSON.parse((await db.fd.readObject(oid as string)).toString()))
    expect(rows[0]).toMatchObject({ __class__: 'Shop.Company', __identifier__: oid, taxNumber: 77, age: 25 })
  })

  queryTest('may come first, and is called SELECT too', shop, async (db) => {
    const wanted = [{ name: 'Bob' }, { name: 'Dunn Ltd' }]
    expect(await db.rows('RETURN name FROM Client WHERE age = 25 ORDER BY name')).toEqual(wanted)
    expect(await db.rows('SELECT name FROM Client WHERE age = 25 ORDER BY name')).toEqual(wanted)
    expect(await db.rows('SELECT * FROM Company')).toEqual(await db.rows('FROM Company RETURN *'))
  })

  queryTest('names each value by its alias, or by the expression as it is written', shop, async (db) => {
    const [row] = await db.rows(
      `FROM Order WHERE number = 1
       RETURN client.name, total   *  2, number AS n, day AS 'the day', items[ 0 ].title, UPPER( client.name /* who */ ), $$ID AS oid`,
    )
    expect(row).toEqual({
      'client.name': 'Ann',
      'total * 2': 25,
      n: 1,
      'the day': '2024-01-10',
      'items[ 0 ].title': 'pen',
      'UPPER( client.name )': 'ANN',
      oid: expect.stringMatching(/^\d+-\d+-\d+-\d+$/),
    })
    expect(Object.keys(row ?? {})).not.toContain('__class__')
  })

  queryTest('refuses two values of one name', shop, async (db) => {
    const error = await db.failure('FROM Client RETURN name, age AS name')
    expect(error.type).toBe('QueryError')
    expect(error.message).toMatch(/name/)
  })

  queryTest('shows values of every form as objects do', shop, async (db) => {
    const [ann] = await db.rows(
      "FROM Client WHERE name = 'Ann' RETURN address, tags, homes, orders, friends, byYear, $$ID AS oid",
    )
    const [whole] = await db.rows("FROM Client WHERE name = 'Ann' RETURN *")
    for (const name of ['address', 'tags', 'homes', 'orders', 'friends', 'byYear']) {
      expect(ann?.[name], name).toEqual(whole?.[name])
    }
    expect(ann?.tags).toEqual(['a', 'b', 'c'])
    expect(ann?.address).toMatchObject({ city: 'Oslo', zip: 150 })
  })

  queryTest('of an aggregate without GROUP BY is one row', shop, async (db) => {
    expect(
      await db.rows('FROM Order RETURN COUNT() AS all, COUNT(total) AS n, SUM(total), MIN(day), MAX(number)'),
    ).toEqual([{ all: 5, n: 4, 'SUM(total)': 40, 'MIN(day)': '2024-01-10', 'MAX(number)': 5 }])
    expect(
      await db.rows('FROM Order WHERE number > 100 RETURN COUNT() AS n, SUM(total) AS sum, AVG(total) AS avg'),
    ).toEqual([{ n: 0, sum: null, avg: null }])
    expect(await db.rows('FROM Order RETURN COUNT(*) AS n')).toEqual([{ n: 5 }])
    expect(await db.rows('FROM Client RETURN AVG(COUNT(orders)) AS mean')).toEqual([{ mean: 1 }])
  })

  queryTest('of paths through references that lead nowhere is null', shop, async (db) => {
    expect(await db.rows('FROM Order WHERE number = 5 RETURN client, client.name, client.address.city')).toEqual([
      { client: '0-0-0-0', 'client.name': null, 'client.address.city': null },
    ])
    await db.rows("DELETE Client WHERE name = 'Ann'")
    expect(await db.rows("FROM Client WHERE name = 'Bob' RETURN friends.name, COUNT(friends) AS n")).toEqual([
      { 'friends.name': [null], n: 1 },
    ])
  })
})

describe('SHOW', () => {
  queryTest('replies a value, parameters and classes', shop, async (db) => {
    expect(await db.rows('SHOW 1 + 1')).toEqual([2])
    expect(await db.rows("SHOW (LOOKUP Item WHERE title = 'pen').price")).toEqual([2.5])
    expect(await db.rows('LET b = 2; SHOW PARAMETERS', { a: 1 })).toEqual([
      { name: 'a', value: 1 },
      { name: 'b', value: 2 },
    ])
    const [item] = await db.rows('SHOW CLASS Item')
    expect(item).toMatchObject({
      className: 'Shop.Item',
      attributes: [{ attributeName: 'title' }, { attributeName: 'price' }, { attributeName: 'count' }],
    })
    const classes = await db.rows('SHOW CLASSES')
    expect(classes.map(({ className }) => className)).toEqual([
      'Shop.Address',
      'Shop.Client',
      'Shop.Company',
      'Shop.Order',
      'Shop.Item',
    ])
    expect(await db.rows('SHOW SCHEMA')).toEqual(classes)
    expect((await db.failure('SHOW CLASS Itm')).message).toMatch(/Did you mean Item/)
  })
})
