/** LET, and parameters, which are variables too (DO, sections 1 and 3). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

describe('LET', () => {
  queryTest('names a value, an object or rows for the statements after it', shop, async (db) => {
    expect(await db.rows('LET a = 2; SHOW $a * 3')).toEqual([6])
    expect(await db.rows('LET $a = LIST{1, 2, 3}; SHOW $a[-1]')).toEqual([3])
    expect(await db.rows("LET ann = LOOKUP Client WHERE name = 'Ann'; SHOW $ann.orders.number")).toEqual([[1, 2]])
    expect(
      await db.rows('LET rows = FROM Order WHERE total > 10 ORDER BY total RETURN number, total; SHOW $rows.number'),
    ).toEqual([[1, 3]])
    expect(await db.rows('LET n = FROM Order RETURN COUNT(); SHOW $n + 1')).toEqual([6])
    expect(await db.rows('LET up = UPDATE Order WHERE total < 3 SET total TO 3.0; SHOW $up.number')).toEqual([[4]])
    expect(await db.rows('LET a = 1')).toEqual([])
  })

  queryTest('hides a parameter of that name, and holds for one request', shop, async (db) => {
    expect(await db.rows('LET a = $a + 1; SHOW $a', { a: 1 })).toEqual([2])
    expect((await db.failure('LET ab = 1; SHOW $a')).message).toBe(
      'Line 1, column 18: there is no parameter or variable $a: parameters and LET last for one request. Did you mean ab?',
    )
  })
})

describe('parameters', () => {
  queryTest('stand for values of every kind', shop, async (db) => {
    const parameters = {
      name: 'Ann',
      min: 20,
      list: ['Ann', 'Bob'],
      none: null,
      flag: true,
      deep: { a: [{ b: 7 }] },
      day: '2024-02-11',
    }
    const names = async (where: string): Promise<unknown[]> => {
      return (await db.rows(`FROM Client WHERE ${where} ORDER BY name RETURN name`, parameters)).map(({ name }) => name)
    }
    expect(await names('name = $name')).toEqual(['Ann'])
    expect(await names('age > $min AND $flag')).toEqual(['Ann', 'Bob', 'Dunn Ltd'])
    expect(await names('name IN $list')).toEqual(['Ann', 'Bob'])
    expect(await names('age = $none')).toEqual([])
    expect(await db.rows('SHOW $deep.a[0].b', parameters)).toEqual([7])
    expect(await db.rows('FROM Order WHERE day = $day RETURN number', parameters)).toEqual([{ number: 3 }])
    await db.rows('CREATE Client {name: $c.name, tags: $c.tags, address: $c.address}', {
      c: { name: 'Eve', tags: ['x'], address: { city: 'Rome' } },
    })
    expect(await db.rows("FROM Client WHERE name = 'Eve' RETURN tags, address.city AS city")).toEqual([
      { tags: ['x'], city: 'Rome' },
    ])
  })

  queryTest('of a statement whose only value is a list are that list', shop, async (db) => {
    const all = 'LET all = (FROM Order WHERE number < 3 RETURN COLLECT(number))'
    expect(await db.rows(`${all}; FROM Order WHERE number IN $all ORDER BY number RETURN number`)).toEqual([
      { number: 1 },
      { number: 2 },
    ])
    expect(await db.rows(`${all}; SHOW $all[1]`)).toEqual([2])
    expect(await db.rows(`${all}; FROM $all AS n RETURN n`)).toEqual([{ n: 1 }, { n: 2 }])
  })

  queryTest('of a statement with one value carry it out once', shop, async (db) => {
    const plan = await db.analyze('LET n = (FROM (FROM Order RETURN total) AS r RETURN COUNT())')
    expect(plan.inputs).toHaveLength(1)
    expect(plan.inputs?.[0]?.nested).toHaveLength(1)
  })

  queryTest('of the wrong kind, or missing, are told with the place where they are used', shop, async (db) => {
    const missing = await db.failure('FROM Client WHERE name = $nme RETURN *', { name: 'Ann' })
    expect(missing).toMatchObject({ type: 'QueryError', extensions: { line: 1, column: 26, text: '$nme' } })
    expect(missing.message).toMatch(/Did you mean name|\$name/)
    const wrong = await db.failure('FROM Order WHERE day = $day RETURN *', { day: 'soon' })
    expect(wrong).toMatchObject({ type: 'QueryError', extensions: { line: 1 } })
    expect(wrong.message).toMatch(/soon/)
    expect((await db.failure('FROM Client WHERE age > $a RETURN *', { a: true })).type).toBe('QueryError')
  })
})
