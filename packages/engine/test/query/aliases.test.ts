/** The names of sources. */
import { expect } from 'vitest'
import { queryTest } from './query-database.ts'
import { shop } from './shop.ts'

queryTest('an alias names the objects of a source, with AS or without', shop, async (db) => {
  const expected = [{ 'o.number': 3, who: 'Bob', total: 20 }]
  for (const source of ['Order o', 'Order AS o', 'ONLY Order o', 'Shop.Order AS `o`', 'Orders o']) {
    expect(await db.rows(`FROM ${source} WHERE o.total > 15 RETURN o.number, o.client.name AS who, total`)).toEqual(
      expected,
    )
  }
  expect(await db.rows('SELECT o.number FROM Order o WHERE o.total > 5 ORDER BY o.total DESC TAKE 1')).toEqual([
    { 'o.number': 3 },
  ])
  expect(
    await db.rows('FROM Order o WHERE o = $$ID AND o.number = 1 RETURN COUNT() AS n, MAX(o.total) AS most'),
  ).toEqual([{ n: 1, most: 12.5 }])
  expect(await db.value('(LOOKUP Order o WHERE o.number = 3).total')).toBe(20)
})

queryTest('an alias names references', shop, async (db) => {
  const text =
    "LET ann = (LOOKUP Client WHERE name = 'Ann'); FROM $ann.orders AS o WHERE o.total < 10 RETURN o.number AS n"
  expect(await db.rows(text)).toEqual([{ n: 2 }])
  expect(await db.rows('FROM (LOOKUP Order WHERE number = 4) o RETURN o.total')).toEqual([{ 'o.total': 2.5 }])
})

queryTest('an alias hides an attribute of its name', shop, async (db) => {
  expect(
    await db.rows('FROM Order total WHERE total.number = 1 RETURN total.total AS t, total = $$ID AS same'),
  ).toEqual([{ t: 12.5, same: true }])
})

queryTest('an alias within changes', shop, async (db) => {
  const updated = await db.rows(
    "UPDATE Client c WHERE c.name = 'Bob' SET c.age TO c.age + 1, c.address.city TO 'Rome' RETURN c.age, c.address.city AS city",
  )
  expect(updated).toEqual([{ 'c.age': 26, city: 'Rome' }])
  expect(await db.rows('DELETE Order AS o WHERE o.number = 5 RETURN o.number')).toEqual([{ 'o.number': 5 }])
})

queryTest('the words of clauses are no aliases', shop, async (db) => {
  expect(await db.rows('FROM Order `take` TAKE 1 RETURN `take`.number > 0 AS is')).toEqual([{ is: true }])
  expect(await db.rows('FROM Order AS skip SKIP 4 RETURN skip.number > 0 AS is')).toHaveLength(1)
  expect((await db.failure('FROM Order o RETURN p.number')).message).toContain("no attribute 'p'")
})
