/** LOOKUP of one object (DO, section 3). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

describe('LOOKUP', () => {
  queryTest('takes the match with the lowest OID, or null', shop, async (db) => {
    expect(await db.rows('SHOW (LOOKUP Client WHERE age = 25).name')).toEqual(['Bob'])
    expect(await db.rows('SHOW (LOOKUP Client WHERE age = 99)')).toEqual([null])
    const [ann] = await db.rows("FROM Client WHERE name = 'Ann' RETURN $$ID AS oid")
    expect(await db.rows("LOOKUP Client WHERE name = 'Ann'")).toEqual([ann?.oid])
    await db.rows('CREATE INDEX clientAge ON Client (age)')
    expect(await db.rows('SHOW (LOOKUP Client WHERE age = 25).name')).toEqual(['Bob'])
  })
})
