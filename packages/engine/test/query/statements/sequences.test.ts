/** CREATE, ALTER, DROP and SHOW SEQUENCES, and NEXT in a text. */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'

const classes = `UPDATE SCHEMA {
  CREATE CLASS Order {number: Integer{Storage: b64}, other: Integer{Storage: b64}, next: Integer, sequence: String}
}; CREATE UNIQUE INDEX byNumber ON Order (number)`

describe('statements about sequences', () => {
  queryTest('make, show, restart and remove one', [], async (db) => {
    expect(await db.rows('CREATE SEQUENCE s')).toEqual([{ name: 's' }])
    expect(await db.rows('create sequence down START -5 STEP -10')).toEqual([{ name: 'down' }])
    expect(await db.rows("CREATE SEQUENCE 'a-b' STEP +2")).toEqual([{ name: 'a-b' }])
    expect([await db.value("NEXT('s')"), await db.value("NEXT('s')")]).toEqual([1, 2])
    expect([await db.value("NEXT('down')"), await db.value("NEXT('down')")]).toEqual([-5, -15])
    expect(await db.rows('SHOW SEQUENCES')).toEqual([
      { name: 's', start: 1, step: 1, next: 3 },
      { name: 'down', start: -5, step: -10, next: -25 },
      { name: 'a-b', start: 1, step: 2, next: 1 },
    ])
    expect(await db.rows('ALTER SEQUENCE s RESTART 100')).toEqual([])
    expect(await db.value("NEXT('s')")).toBe(100)
    expect(await db.rows('DROP SEQUENCE s')).toEqual([])
    expect((await db.failure("SHOW NEXT('s')")).message).toMatch(/there is no sequence 's'/)
    await db.rows('CREATE SEQUENCE s START 7')
    expect(await db.value("NEXT('s')")).toBe(7)
  })

  queryTest('refuse names, numbers and sequences that are not there', ['CREATE SEQUENCE s'], async (db) => {
    const types: Record<string, string> = {
      'CREATE SEQUENCE s': 'SequenceExists',
      "CREATE SEQUENCE '1a'": 'InvalidName',
      'CREATE SEQUENCE t STEP 0': 'InvalidDefinition',
      'CREATE SEQUENCE t START 9223372036854775808': 'InvalidDefinition',
      'CREATE SEQUENCE t STEP -9223372036854775809': 'InvalidDefinition',
      'ALTER SEQUENCE s RESTART 9223372036854775808': 'InvalidDefinition',
      'ALTER SEQUENCE t RESTART 1': 'SequenceNotFound',
      'DROP SEQUENCE t': 'SequenceNotFound',
      'CREATE SEQUENCE t START 1.5': 'QuerySyntaxError',
      'ALTER SEQUENCE s': 'QuerySyntaxError',
      'CREATE SEQUENCE t STEP 2 START 1': 'QuerySyntaxError',
      "SHOW NEXT('t')": 'QueryError',
      'SHOW NEXT(1)': 'QueryError',
      "SHOW NEXT('s', 's')": 'QueryError',
      "IF NEXT('s') = 1 THEN (SHOW 1)": 'QueryError',
    }
    for (const [text, type] of Object.entries(types))
      expect([text, (await db.failure(text)).type]).toEqual([text, type])
    expect((await db.failure('DROP SEQUENCE ss')).message).toMatch(/Did you mean s\?/)
    expect(await db.rows('SHOW SEQUENCES')).toEqual([{ name: 's', start: 1, step: 1, next: 1 }])
  })

  queryTest(
    'the last number of 64 bits is given, and then none',
    ['CREATE SEQUENCE up START 9223372036854775806', 'CREATE SEQUENCE down START -9223372036854775807 STEP -1'],
    async (db) => {
      for (const name of ['up', 'down']) {
        await db.rows(`SHOW NEXT('${name}'); SHOW NEXT('${name}')`)
        const error = await db.failure(`SHOW NEXT('${name}')`)
        expect([error.type, error.message]).toEqual([
          'SequenceExhausted',
          expect.stringMatching(/922337203685477580[78]/),
        ])
      }
      expect((await db.rows('SHOW SEQUENCES')).map(({ next }) => next)).toEqual([null, null])
      await db.rows('ALTER SEQUENCE up RESTART -3')
      expect(await db.value("NEXT('up')")).toBe(-3)
    },
  )
})

describe('NEXT', () => {
  queryTest('stands in values of LET, SHOW, CREATE, UPSERT and SET', [classes, 'CREATE SEQUENCE s'], async (db) => {
    expect(await db.rows("LET $x = NEXT('s') * 10; SHOW $x")).toEqual([10])
    expect(await db.rows("SHOW LIST{NEXT('s'), NEXT('s')}")).toEqual([[2, 3]])
    await db.rows("CREATE Order {number: NEXT('s'), other: NEXT('s')}")
    expect(await db.rows('FROM Order RETURN number, other')).toEqual([{ number: 4, other: 5 }])
    await db.rows("UPSERT Order {number: 4, other: NEXT('s')} ON (number)")
    expect(await db.rows('FROM Order RETURN number, other')).toEqual([{ number: 4, other: 6 }])
    await db.rows("FOR EACH i IN LIST{1, 2} => (CREATE Order {number: NEXT('s')})")
    await db.rows("UPDATE Order SET other TO CASE WHEN number > 4 THEN NEXT('s') ELSE 0 END")
    expect(await db.rows('FROM Order ORDER BY number RETURN number, other')).toEqual([
      { number: 4, other: 0 },
      { number: 7, other: 9 },
      { number: 8, other: 10 },
    ])
  })

  queryTest('gives each object of an UPDATE its own', [classes, 'CREATE SEQUENCE s'], async (db) => {
    await db.rows('FOR EACH i IN LIST{1, 2, 3, 4, 5, 6, 7} => (CREATE Order {number: $i})')
    await db.rows("UPDATE Order SET number TO NEXT('s') + 100, other TO NEXT('s')")
    const rows = await db.rows('FROM Order RETURN number, other')
    const drawn = rows.flatMap(({ number, other }) => [Number(number) - 100, Number(other)])
    expect(new Set(drawn).size).toBe(14)
    expect(drawn.every((number) => number >= 1)).toBe(true)
  })

  queryTest('stands nowhere else', [classes, 'CREATE SEQUENCE s'], async (db) => {
    const texts = [
      "FROM Order WHERE number = NEXT('s') RETURN number",
      "FROM Order RETURN NEXT('s')",
      "FROM Order ORDER BY NEXT('s') RETURN number",
      "DELETE Order WHERE number = NEXT('s')",
      "UPDATE Order WHERE number = NEXT('s') SET other TO 1",
      "UPDATE Order SET other TO 1 RETURN NEXT('s')",
      "LET $x = FROM Order RETURN NEXT('s')",
      "SHOW (FROM Order RETURN NEXT('s'))",
      "FOR EACH i IN LIST{NEXT('s')} => (SHOW $i)",
    ]
    for (const text of texts) {
      const error = await db.failure(text)
      expect([text, error.type, error.message]).toEqual([text, 'QueryError', expect.stringMatching(/NEXT stands in/)])
    }
    expect(await db.value("NEXT('s')")).toBe(1)
  })

  queryTest('reserves no word', [classes, 'UPDATE SCHEMA { CREATE CLASS Sequence {start: Integer} }'], async (db) => {
    await db.rows("CREATE Order {number: 1, next: 2, sequence: 'a'}")
    await db.rows('CREATE Sequence {start: 3}; CREATE Sequence {}')
    expect(await db.rows("FROM Order WHERE next = 2 AND sequence = 'a' RETURN next, sequence")).toEqual([
      { next: 2, sequence: 'a' },
    ])
    expect(await db.rows('FROM Sequence WHERE start = 3 RETURN start')).toEqual([{ start: 3 }])
    await db.rows('UPDATE Order SET next TO next + 1')
    expect(await db.rows('FROM Order RETURN next')).toEqual([{ next: 3 }])
  })

  queryTest('is outside of the transaction', [classes, 'CREATE SEQUENCE s'], async (db) => {
    expect((await db.failure("CREATE Order {number: NEXT('s')}; DROP INDEX nothing")).type).toBe('IndexNotFound')
    expect(await db.rows('FROM Order RETURN number')).toEqual([])
    expect(await db.value("NEXT('s')")).toBe(2)
  })

  queryTest('draws of a sequence that the text itself makes or restarts', [classes], async (db) => {
    expect(await db.rows("CREATE SEQUENCE s START 5; CREATE Order {number: NEXT('s')}; SHOW NEXT('s')")).toEqual([6])
    expect(await db.value("NEXT('s')")).toBe(7)
    expect(await db.rows("ALTER SEQUENCE s RESTART 50; SHOW NEXT('s')")).toEqual([50])
    expect(await db.value("NEXT('s')")).toBe(51)
    expect((await db.failure("DROP SEQUENCE s; SHOW NEXT('s')")).message).toMatch(/no sequence 's'/)
    expect(await db.rows("DROP SEQUENCE s; CREATE SEQUENCE s; SHOW NEXT('s'); SHOW SEQUENCES")).toEqual([
      { name: 's', start: 1, step: 1, next: 2 },
    ])
  })

  queryTest('is not drawn by EXPLAIN', [classes, 'CREATE SEQUENCE s'], async (db) => {
    await db.rows("EXPLAIN CREATE Order {number: NEXT('s')}")
    await db.rows("EXPLAIN SHOW NEXT('s')")
    await db.rows('EXPLAIN CREATE SEQUENCE t')
    expect(await db.value("NEXT('s')")).toBe(1)
  })
})
