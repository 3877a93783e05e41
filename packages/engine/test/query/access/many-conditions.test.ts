/** Predicates of very many conditions: so many of them have access paths that planning stays in proportion, and all of them are checked. */
import { expect } from 'vitest'
import { queryTest } from '../query-database.ts'

const setUp = [
  'UPDATE SCHEMA { CREATE CLASS Part {code: String, owner: String, n: Integer} }',
  'CREATE INDEX partCode ON Part (code)',
  'CREATE INDEX partOwner ON Part (owner)',
  'CREATE INDEX partNumber ON Part (n, code)',
]

queryTest('conditions beyond those that are looked at for access paths are checked all the same', setUp, async (db) => {
  const parts = Array.from({ length: 40 }, (_, i) => ({ code: `c${i}`, owner: `o${i % 5}`, n: i }))
  await db.fd.createObjects(parts.map((attributes) => ({ class: 'Part', attributes })))
  for (const condition of [
    (i: number) => `(code = 'c7' OR owner = 'o${i === 399 ? 9 : 2}')`,
    (i: number) => `(n = 7 OR code > 'c${i === 399 ? 9 : ''}')`,
    (i: number) => `n >= ${i === 399 ? 7 : 0} AND n <= ${i === 398 ? 7 : 50}`,
  ]) {
    const conditions = Array.from({ length: 400 }, (_, i) => condition(i))
    expect(await db.rows(`FROM Part WHERE ${conditions.join(' AND ')} RETURN n`)).toEqual([{ n: 7 }])
    const [plan] = await db.rows(`EXPLAIN FROM Part WHERE ${conditions.join(' AND ')} RETURN n`)
    // Each access path that is looked at is a candidate.
    expect((JSON.stringify(plan).match(/"operator":"indexScan"/g) ?? []).length).toBeLessThanOrEqual(300)
  }
})
