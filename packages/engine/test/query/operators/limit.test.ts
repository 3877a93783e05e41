/** SKIP and TAKE, by number or as long as a predicate is true (DO, sections 3 and 4). */
import { describe, expect } from 'vitest'
import { type QueryDatabase, queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

async function names(db: QueryDatabase, clauses: string): Promise<unknown[]> {
  return (await db.rows(`FROM Client ${clauses} RETURN name`)).map(({ name }) => name)
}

describe('SKIP and TAKE', () => {
  queryTest('count rows, after the order', shop, async (db) => {
    expect(await names(db, 'ORDER BY name SKIP 1 TAKE 2')).toEqual(['Bob', 'Cleo'])
    expect(await names(db, 'ORDER BY name TAKE 2 SKIP 1')).toEqual(['Bob', 'Cleo'])
    expect(await names(db, 'ORDER BY name OFFSET 2 LIMIT 1')).toEqual(['Cleo'])
    expect(await names(db, 'ORDER BY name SKIP 10')).toEqual([])
    expect(await names(db, 'ORDER BY name TAKE 0')).toEqual([])
    expect(await names(db, 'TAKE 1 + 1')).toHaveLength(2)
    expect(await db.rows('FROM Client ORDER BY name SKIP $s TAKE $t RETURN name', { s: 1, t: 1 })).toEqual([
      { name: 'Bob' },
    ])
  })

  queryTest('WHILE begins and ends at the first row for which the predicate is not true', shop, async (db) => {
    expect(await names(db, "ORDER BY name SKIP WHILE name < 'Bob'")).toEqual(['Bob', 'Cleo', 'Dunn Ltd'])
    expect(await names(db, "ORDER BY name TAKE WHILE name < 'Cleo'")).toEqual(['Ann', 'Bob'])
    expect(await names(db, 'ORDER BY age DESC, name TAKE WHILE age > 0')).toEqual([])
    expect(await names(db, "ORDER BY name SKIP WHILE name < 'Bob' TAKE 1")).toEqual(['Bob'])
    expect(await names(db, "ORDER BY name SKIP 1 TAKE WHILE name != 'Dunn Ltd'")).toEqual(['Bob', 'Cleo'])
  })

  queryTest('apply to groups', shop, async (db) => {
    expect(await db.rows('FROM Client GROUP BY age ORDER BY COUNT() DESC TAKE 1 RETURN age, COUNT() AS n')).toEqual([
      { age: 25, n: 2 },
    ])
  })

  queryTest('take whole numbers from 0', shop, async (db) => {
    for (const clause of ['TAKE -1', 'SKIP -1', "TAKE 'a'", 'TAKE 1.5', 'SKIP null', 'TAKE name', 'TAKE $t']) {
      const error = await db.failure(`FROM Client ${clause} RETURN name`, { t: true })
      expect(error.type, clause).toBe('QueryError')
      expect(error.message, clause).toMatch(/^Line 1, column \d+: /)
    }
    expect((await db.failure('FROM Client TAKE WHILE 5 RETURN name')).type).toBe('QueryError')
  })
})
