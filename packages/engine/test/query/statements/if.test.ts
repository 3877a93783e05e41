/** IF: one of two branches (DO, section 3). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

describe('IF', () => {
  queryTest('runs one of its branches, and replies what the last statement of it does', shop, async (db) => {
    const text = "IF $n > 1 THEN (CREATE Item {title: 'many'}; SHOW 'many') ELSE (SHOW 'one')"
    expect(await db.rows(text, { n: 2 })).toEqual(['many'])
    expect(await db.rows(text, { n: 1 })).toEqual(['one'])
    expect(await db.rows(text, { n: null })).toEqual(['one'])
    expect(await db.rows('IF false THEN (SHOW 1)')).toEqual([])
    expect(await db.rows("FROM Item WHERE title = 'many' RETURN COUNT() AS n")).toEqual([{ n: 1 }])
    expect((await db.failure('IF 5 THEN (SHOW 1)')).type).toBe('QueryError')
  })
})
