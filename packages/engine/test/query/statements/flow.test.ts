/** LET, FOR EACH, IF, LOOKUP, USE, parameters, and several statements in one text (DO, sections 1 and 3). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { shop, shopSchema } from './shop.ts'

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

describe('FOR EACH', () => {
  queryTest('runs its statements for each element, and replies nothing', shop, async (db) => {
    expect(
      await db.rows(
        "FOR EACH n IN LIST{1, 2} => (CREATE Item {title: 't' + CAST($n AS String), count: $n}; LET x = $n)",
      ),
    ).toEqual([])
    expect(await db.rows("FROM Item WHERE title =~ '^t' ORDER BY title RETURN title, count")).toEqual([
      { title: 't1', count: 1 },
      { title: 't2', count: 2 },
    ])
    await db.rows(
      'FOR EACH o IN (FROM Order WHERE total > 10 RETURN *) => (UPDATE Order WHERE $$ID = $o SET total TO total + 1)',
    )
    expect(await db.rows('FROM Order WHERE total > 10 ORDER BY number RETURN total')).toEqual([
      { total: 13.5 },
      { total: 21 },
    ])
    await db.rows('FOR EACH a IN LIST{} => (CREATE Item {})')
    expect(await db.rows('FROM Item RETURN COUNT() AS n')).toEqual([{ n: 4 }])
  })

  queryTest('within each other', [shopSchema], async (db) => {
    await db.rows('FOR EACH a IN LIST{1, 2, 3} => (FOR EACH b IN LIST{10, 20} => (CREATE Item {count: $a * $b}))')
    expect(await db.rows('FROM Item RETURN SUM(count) AS sum, COUNT() AS n')).toEqual([{ sum: 180, n: 6 }])
    await db.rows(
      'LET a = 7; FOR EACH a IN LIST{1, 2} => (FOR EACH a IN LIST{5} => (SHOW $a); CREATE Item {count: $a}); CREATE Item {count: $a}',
    )
    expect(await db.rows('FROM Item WHERE count < 10 ORDER BY count RETURN count')).toEqual([
      { count: 1 },
      { count: 2 },
      { count: 7 },
    ])
    expect((await db.failure('FOR EACH b IN LIST{1} => (SHOW $b); SHOW $b')).message).toMatch(/\$b/)
  })

  queryTest('needs elements', [shopSchema], async (db) => {
    expect((await db.failure('FOR EACH a IN 5 => (SHOW 1)')).type).toBe('QueryError')
  })
})

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

describe('several statements', () => {
  queryTest('are one transaction, and reply what the last one does', shop, async (db) => {
    expect(await db.rows("CREATE Item {title: 'cap'}; FROM Item RETURN COUNT() AS n;")).toEqual([{ n: 3 }])
    const error = await db.failure("CREATE Item {title: 'hat'}; DELETE Client; CREATE Item {count: 'x'}")
    expect(error.extensions).toMatchObject({ line: 1 })
    expect(await db.rows('FROM Item RETURN COUNT() AS n')).toEqual([{ n: 3 }])
    expect(await db.rows('FROM Client RETURN COUNT() AS n')).toEqual([{ n: 4 }])
  })

  queryTest('see what those before them did: objects, links, indexes and the schema', [shopSchema], async (db) => {
    const rows = await db.rows(`
      UPDATE SCHEMA { CREATE CLASS Shop.Voucher {code: String, client: Reference{Referenced: Shop.Client}} };
      CREATE UNIQUE INDEX voucherCode ON Voucher (code);
      LET eve = CREATE Client {name: 'Eve'};
      FOR EACH c IN LIST{'a', 'b', 'c'} => (CREATE Voucher {code: $c, client: $eve});
      DELETE Voucher WHERE code = 'a';
      UPDATE Voucher WHERE code = 'b' SET code TO 'z';
      UPDATE SCHEMA { ALTER CLASS Voucher {ADD value: Integer} };
      UPDATE Voucher WHERE code >= 'c' SET value TO 5;
      FROM Voucher WHERE code >= 'b' AND client.name = 'Eve' ORDER BY code RETURN code, value`)
    expect(rows).toEqual([
      { code: 'c', value: 5 },
      { code: 'z', value: 5 },
    ])
  })

  queryTest('that break a unique index leave nothing, the schema included', [shopSchema], async (db) => {
    const error = await db.failure(`
      UPDATE SCHEMA { CREATE CLASS Shop.Voucher {code: String} };
      CREATE UNIQUE INDEX voucherCode ON Voucher (code);
      CREATE Voucher {code: 'a'};
      CREATE Voucher {code: 'a'}`)
    expect(error.type).toBe('UniqueViolation')
    expect((await db.failure('FROM Voucher RETURN *')).message).toMatch(/there is no class 'Voucher'/)
    await db.rows('UPDATE SCHEMA { CREATE CLASS Shop.Voucher {number: Integer} }')
    expect(await db.rows('FROM Voucher RETURN *')).toEqual([])
  })
})
