/** RETURN and SELECT: the columns of each row, and their names (DO, sections 1, 3 and 4). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

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
