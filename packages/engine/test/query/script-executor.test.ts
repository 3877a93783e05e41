/** Several statements in one text are one transaction (DO, sections 1 and 3). */
import { describe, expect } from 'vitest'
import { queryTest } from './query-database.ts'
import { shop, shopSchema } from './shop.ts'

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
