/** RETURN and SELECT: the columns of each row, and their names (DO, sections 1, 3 and 4). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

const stock = [
  `UPDATE SCHEMA {
    CREATE CLASS T.Maker {code: Integer, name: String}
    CREATE CLASS T.Model {code: Integer, maker: Reference{Referenced: T.Maker}}
    CREATE CLASS T.Car {number: Integer, model: Reference{Referenced: T.Model}, other: Reference{Referenced: T.Model}}
  }`,
  'CREATE UNIQUE INDEX makerCode ON T.Maker (code)',
  'CREATE UNIQUE INDEX modelCode ON T.Model (code)',
  'CREATE UNIQUE INDEX carNumber ON T.Car (number)',
]

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

  queryTest('of many rows that refer to the same objects is that of the row at hand', stock, async (db) => {
    // More makers than are kept in mind at a time, more rows than a chunk holds; names that are long, missing, and of objects that are gone.
    const codes = Array.from({ length: 300 }, (_, code) => code)
    const nameOf = (code: number): string | null => {
      if (code % 50 === 3) return null
      return code === 299 ? 'long '.repeat(20_000) : `maker "${code}"`
    }
    await db.rows(
      `FOR EACH c IN $makers => (CREATE T.Maker {code: $c.code, name: $c.name});
       FOR EACH m IN $codes => (CREATE T.Model {code: $m, maker: (LOOKUP T.Maker WHERE code = $m)});
       FOR EACH n IN $cars => (CREATE T.Car {number: $n.number, model: (LOOKUP T.Model WHERE code = $n.model), other: (LOOKUP T.Model WHERE code = $n.other)})`,
      {
        makers: codes.map((code) => ({ code, name: nameOf(code) })),
        codes,
        cars: Array.from({ length: 1_500 }, (_, number) => ({ number, ...modelsOf(number) })),
      },
    )
    await db.rows('DELETE T.Model WHERE code = 11; DELETE T.Maker WHERE code = 12')
    const shown = (code: number | null): { code: number | null; name: string | null } => {
      if (code === null || code === 11) return { code: null, name: null }
      return { code, name: code === 12 ? null : nameOf(code) }
    }
    const text = (where: string): string =>
      `FROM T.Car ${where} RETURN model.code AS a, model.maker.name AS b, number, other.code AS c, model.code AS d`
    const wanted = Array.from({ length: 1_500 }, (_, number) => {
      const { model, other } = modelsOf(number)
      const { code, name } = shown(model)
      return { a: code, b: name, number, c: shown(other).code, d: code }
    })
    // Side by side, by the index and from the extent.
    const [byIndex, byExtent] = await Promise.all([db.rows(text('WHERE number >= 0')), db.rows(text(''))])
    expect(byIndex).toEqual(wanted)
    // No other columns of the same object: what is noted for it stays from row to row.
    const few = await db.rows('FROM T.Car WHERE number >= 0 RETURN number, model.code AS a, model.maker.name AS b')
    expect(few).toEqual(wanted.map(({ number, a, b }) => ({ number, a, b })))
    expect(byExtent.toSorted((one, other) => Number(one.number) - Number(other.number))).toEqual(wanted)
  })
})

/** Some that many cars have, and all others now and then. */
function modelsOf(number: number): { readonly model: number | null; readonly other: number } {
  if (number % 97 === 5) return { model: null, other: 3 }
  if (number >= 1_400 && number < 1_480) {
    // Side by side, two that are noted at the same place: their slots differ by 256.
    const code = (number - 1_400) >> 1
    return { model: number % 2 === 0 ? code : 256 + code, other: 1 }
  }
  // The last one, whose maker has a long name, once.
  const own = number < 300 ? number : number % 299
  return { model: number % 3 === 0 ? number % 20 : own, other: (number * 7) % 16 }
}
