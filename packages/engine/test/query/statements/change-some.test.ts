/** UPDATE and DELETE of the first objects in an order: ORDER BY, SKIP and TAKE before the actions. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../bytes/property-runs.ts'
import { openQueryDatabase, queryTest } from '../query-database.ts'

const schema = 'UPDATE SCHEMA { CREATE CLASS T {n: Integer, s: String} }'
const fill = 'FOR EACH i IN LIST{3, 1, 4, 2, 5} => (CREATE T {n: $i})'

queryTest('only some are changed, in an order', [schema, fill], async (db) => {
  const rest = async (): Promise<unknown[]> => (await db.rows('FROM T ORDER BY n RETURN n')).map(({ n }) => n)
  expect(await db.rows('UPDATE T ORDER BY n DESC SKIP 1 TAKE 2 SET s TO "x" RETURN n')).toEqual([{ n: 4 }, { n: 3 }])
  expect(await db.rows("FROM T WHERE s = 'x' RETURN n ORDER BY n")).toEqual([{ n: 3 }, { n: 4 }])
  expect(await db.rows('UPDATE T ORDER BY n TAKE 3 SET s TO "y" ORDER BY n DESC RETURN n')).toEqual([
    { n: 3 },
    { n: 2 },
    { n: 1 },
  ])
  expect(await db.rows('UPDATE T TAKE 0 SET n TO 100 RETURN COUNT() AS c')).toEqual([{ c: 0 }])
  expect(await db.rows('DELETE T WHERE n > 1 ORDER BY n TAKE 2 RETURN n')).toEqual([{ n: 2 }, { n: 3 }])
  expect(await rest()).toEqual([1, 4, 5])
  expect(await db.rows('DELETE T ORDER BY n DESC TAKE $k RETURN COUNT() AS c', { k: 1 })).toEqual([{ c: 1 }])
  expect(await rest()).toEqual([1, 4])
  expect(await db.rows('DELETE T TAKE WHILE n < 3 RETURN n')).toEqual([{ n: 1 }])
  expect(await db.rows('DELETE T ORDER BY n RETURN n')).toEqual([{ n: 4 }])
})

queryTest(
  'the choice uses an index, and no more of it than is taken',
  [schema, 'CREATE INDEX byN ON T (n)'],
  async (db) => {
    await db.rows('FOR EACH i IN $all => (CREATE T {n: $i})', { all: Array.from({ length: 2_000 }, (_, i) => i) })
    let plan = await db.analyze('DELETE T WHERE n >= 0 ORDER BY n TAKE 5 RETURN COUNT()')
    while (plan.inputs?.[0] !== undefined) plan = plan.inputs[0]
    expect(plan).toMatchObject({ operator: 'orderedIndexScan' })
    expect(plan.examined).toBeLessThan(100)
  },
)

describe('random choices', () => {
  it('are those of a sorted list', async () => {
    const numbers = fc.uniqueArray(fc.nat(50), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(
        numbers,
        fc.nat(5),
        fc.nat(8),
        fc.boolean(),
        fc.nat(50),
        async (all, skip, take, isDown, least) => {
          const { db, close } = await openQueryDatabase([schema])
          await db.rows('FOR EACH i IN $all => (CREATE T {n: $i, s: null})', { all })
          const qualified = all.filter((n) => n >= least).sort((one, other) => (isDown ? other - one : one - other))
          const chosen = qualified.slice(skip, skip + take)
          const choice = `WHERE n >= ${least} ORDER BY n ${isDown ? 'DESC' : 'ASC'} SKIP ${skip} TAKE ${take}`
          expect(await db.rows(`UPDATE T ${choice} SET s TO 'x' RETURN n`)).toEqual(chosen.map((n) => ({ n })))
          expect(await db.rows("FROM T WHERE s = 'x' RETURN COUNT() AS c")).toEqual([{ c: chosen.length }])
          expect(await db.rows(`DELETE T ${choice} RETURN n`)).toEqual(chosen.map((n) => ({ n })))
          expect(await db.rows('FROM T RETURN COUNT() AS c')).toEqual([{ c: all.length - chosen.length }])
          await close()
        },
      ),
      runs(30),
    )
  })
})
