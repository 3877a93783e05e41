/** WHERE: which rows qualify (DO, sections 1, 3 and 4). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

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
