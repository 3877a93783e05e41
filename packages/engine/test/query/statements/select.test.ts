/** FROM: what its source may be (DO, sections 1 and 3). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

describe('a source', () => {
  queryTest('is all objects of a class and of its subclasses', shop, async (db) => {
    expect(await db.rows('FROM Client RETURN name')).toEqual(
      ['Ann', 'Bob', 'Cleo', 'Dunn Ltd'].map((name) => ({ name })),
    )
    expect(await db.rows('FROM Company RETURN name, taxNumber')).toEqual([{ name: 'Dunn Ltd', taxNumber: 77 }])
  })

  queryTest('with ONLY is those of the class itself', shop, async (db) => {
    expect(await db.rows('FROM ONLY Client RETURN name')).toEqual(['Ann', 'Bob', 'Cleo'].map((name) => ({ name })))
    expect(await db.rows('FROM ONLY Order RETURN COUNT() AS n')).toEqual([{ n: 5 }])
    expect(await db.rows('FROM ONLY Shop.Company RETURN COUNT() AS n')).toEqual([{ n: 1 }])
  })

  queryTest('may be a variable or a statement, whose class is known', shop, async (db) => {
    const [ann] = await db.rows("FROM Client WHERE name = 'Ann' RETURN $$ID AS oid")
    expect(await db.rows('FROM Client WHERE $$ID = $it RETURN name', { it: ann?.oid })).toEqual([{ name: 'Ann' }])
    const unknown = await db.failure(`FROM ${ann?.oid} RETURN name`)
    expect(unknown.message).toMatch(/the class of the objects is not known here: write FROM a class WHERE \$\$ID = …/)
    expect(await db.rows("FROM (LOOKUP Client WHERE name = 'Bob') RETURN age")).toEqual([{ age: 25 }])
    expect(
      await db.rows('LET some = FROM Client WHERE age = 25 RETURN *; FROM $some ORDER BY name RETURN name'),
    ).toEqual([{ name: 'Bob' }, { name: 'Dunn Ltd' }])
    expect(
      await db.rows("LET ann = (LOOKUP Client WHERE name = 'Ann'); FROM $ann.orders WHERE total < 10 RETURN number"),
    ).toEqual([{ number: 2 }])
  })

  queryTest('that is embeddable is refused', shop, async (db) => {
    const error = await db.failure('FROM Address RETURN *')
    expect(error).toMatchObject({ type: 'QueryError', extensions: { line: 1, column: 6, text: 'Address' } })
    expect(error.message).toMatch(/Shop\.Address is embeddable/)
  })
})
