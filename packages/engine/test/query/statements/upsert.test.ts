/** UPSERT: an object by its unique key, changed or created (DO, sections 3 and 4). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

describe('UPSERT', () => {
  queryTest(
    'creates an object, or changes the one with these values',
    [...shop, 'CREATE UNIQUE INDEX itemTitle ON Item (title)'],
    async (db) => {
      const [pen] = await db.rows("FROM Item WHERE title = 'pen' RETURN $$ID AS oid")
      expect(await db.rows("UPSERT Item {title: 'pen', price: 3.5} ON (title)")).toEqual([
        { __class__: 'Shop.Item', __identifier__: pen?.oid },
      ])
      expect(await db.rows("UPSERT Item {title: 'cap', price: 1.0} ON (title)")).toHaveLength(1)
      expect(await db.rows('FROM Item ORDER BY title RETURN title, price, count')).toEqual([
        { title: 'cap', price: 1, count: 0 },
        { title: 'ink', price: 10, count: 3 },
        { title: 'pen', price: 3.5, count: 100 },
      ])
    },
  )

  queryTest('of several values in one text', [...shop, 'CREATE UNIQUE INDEX itemTitle ON Item (title)'], async (db) => {
    await db.rows("FOR EACH t IN LIST{'pen', 'new', 'new'} => (UPSERT Item {title: $t, count: 1} ON (title))")
    expect(await db.rows('FROM Item WHERE count = 1 ORDER BY title RETURN title')).toEqual([
      { title: 'new' },
      { title: 'pen' },
    ])
  })

  queryTest(
    'needs a unique index on exactly the attributes of ON, and their values',
    [...shop, 'CREATE INDEX itemTitle ON Item (title)'],
    async (db) => {
      expect((await db.failure("UPSERT Item {title: 'pen'} ON (title)")).message).toMatch(/unique index/)
      await db.rows('CREATE UNIQUE INDEX itemPrice ON Item (price, title)')
      expect((await db.failure("UPSERT Item {title: 'pen'} ON (title)")).message).toMatch(/unique index/)
      expect((await db.failure("UPSERT Item {title: 'pen'} ON (price, title)")).type).toBe('QueryError')
      await db.rows("UPSERT Item {title: 'pen', price: 2.5, count: 1} ON (title, price)")
      expect(await db.rows("FROM Item WHERE title = 'pen' RETURN count")).toEqual([{ count: 1 }])
    },
  )
})
