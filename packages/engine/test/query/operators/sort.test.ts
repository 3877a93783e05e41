/** ORDER BY: which values come first, and how many rows are held (DO, sections 3 and 4). */
import { describe, expect } from 'vitest'
import { type QueryDatabase, queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

async function names(db: QueryDatabase, clauses: string): Promise<unknown[]> {
  return (await db.rows(`FROM Client ${clauses} RETURN name`)).map(({ name }) => name)
}

describe('ORDER BY', () => {
  queryTest('nulls come last ascending, first descending', shop, async (db) => {
    expect(await names(db, 'ORDER BY age, name')).toEqual(['Bob', 'Dunn Ltd', 'Ann', 'Cleo'])
    expect(await names(db, 'ORDER BY age ASC, name DESC')).toEqual(['Dunn Ltd', 'Bob', 'Ann', 'Cleo'])
    expect(await names(db, 'ORDER BY age DESC, name')).toEqual(['Cleo', 'Ann', 'Bob', 'Dunn Ltd'])
  })

  queryTest('takes any expression', shop, async (db) => {
    expect(await names(db, 'ORDER BY COUNT(orders) DESC, LENGTH(name)')).toEqual(['Ann', 'Bob', 'Dunn Ltd', 'Cleo'])
    expect(await names(db, 'ORDER BY address.city, name')).toEqual(['Bob', 'Ann', 'Dunn Ltd', 'Cleo'])
    expect(await names(db, 'ORDER BY $$ID DESC')).toEqual(['Dunn Ltd', 'Cleo', 'Bob', 'Ann'])
  })

  queryTest('compares texts by code point', shop, async (db) => {
    await db.rows("FOR EACH n IN LIST{'😀', '\uff01', 'Z', 'a', 'É'} => (CREATE Item {title: $n, count: -1})")
    const rows = await db.rows('FROM Item WHERE count = -1 ORDER BY title RETURN title')
    expect(rows.map(({ title }) => title)).toEqual(['Z', 'a', 'É', '\uff01', '😀'])
    await db.rows('CREATE INDEX itemTitle ON Item (title)')
    expect(await db.rows('FROM Item WHERE count = -1 ORDER BY title RETURN title')).toEqual(rows)
  })

  queryTest('long texts are compared to their ends, ascending and descending, in ASCII or not', shop, async (db) => {
    const long = ['a', 'é', '\u0000'].flatMap((one) => ['', 'x', 'y'].map((end) => `${one.repeat(70_001)}${end}`))
    for (const [count, title] of long.entries())
      await db.rows('CREATE Item {title: $title, count: $count}', { title, count })
    const by = async (words: string) =>
      (await db.rows(`FROM Item WHERE LENGTH(title) > 70000 ORDER BY ${words} RETURN title, count`)).map(
        ({ title, count }) => [count, title === long[count as number]],
      )
    const ascending = [6, 7, 8, 0, 1, 2, 3, 4, 5].map((count) => [count, true])
    expect(await by('title')).toEqual(ascending)
    expect(await by('title DESC, count')).toEqual(ascending.toReversed())
    expect(await by('LENGTH(title), title DESC')).toEqual([3, 0, 6, 5, 4, 2, 1, 8, 7].map((count) => [count, true]))
  })

  const numbers = [
    `UPDATE SCHEMA { CREATE CLASS Count {n: Integer, m: Integer, of: Reference{Referenced: Count}}
      CREATE CLASS Prime SUPERCLASS Count {p: Integer} }`,
  ]

  queryTest('the first rows are those of all, equal ones in the order they come in', numbers, async (db) => {
    const values = Array.from({ length: 6_000 }, (_, i) => ({ n: (i * 7_919) % 503, m: i % 11 === 0 ? null : i % 7 }))
    await db.fd.createObjects(values.map((attributes, i) => ({ class: i % 3 === 0 ? 'Prime' : 'Count', attributes })))
    for (const order of ['n', 'n DESC', 'm, n', 'm DESC, n DESC', 'n % 5', 'n + m DESC', 'of.n, n']) {
      const all = await db.rows(`FROM Count ORDER BY ${order} RETURN $$ID AS id, n, m`)
      expect(all).toHaveLength(values.length)
      for (const [skip, take] of [
        [0, 10],
        [0, 1],
        [700, 900],
        [5_990, 20],
      ] as const) {
        const some = await db.rows(`FROM Count ORDER BY ${order} SKIP ${skip} TAKE ${take} RETURN $$ID AS id, n, m`)
        expect(some, order).toEqual(all.slice(skip, skip + take))
      }
      expect(await db.rows(`FROM Count ORDER BY ${order} TAKE 0 RETURN n`)).toEqual([])
    }
    const byN = await db.rows('FROM Count ORDER BY n, m TAKE 4000 RETURN n, m')
    const plain = values.toSorted((one, other) => one.n - other.n || (one.m ?? 9) - (other.m ?? 9))
    expect(byN).toEqual(plain.slice(0, 4_000))
  })
})
