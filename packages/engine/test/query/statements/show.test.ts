/** SHOW of values, parameters and classes (DO, section 3). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

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
