/** CREATE INDEX and DROP INDEX (DO, section 3). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'

const base = 'UPDATE SCHEMA { CREATE CLASS Shop.Thing {name: String} }'

describe('CREATE INDEX and DROP INDEX', () => {
  const things = "FOR EACH n IN LIST{'a', 'b', 'b'} => (CREATE Thing {name: $n})"

  queryTest('build, use and remove an index', [base, things], async (db) => {
    expect(await db.rows('CREATE INDEX thing.name ON Thing (name)')).toEqual([
      { name: 'thing.name', uri: '/v1/index/thing.name' },
    ])
    expect((await db.analyze("FROM Thing WHERE name = 'b' RETURN *")).returned).toBe(2)
    expect(JSON.stringify(await db.analyze("FROM Thing WHERE name = 'b' RETURN *"))).toMatch(/thing\.name/)
    expect(await db.rows('DROP INDEX thing.name')).toEqual([])
    expect(JSON.stringify(await db.analyze("FROM Thing WHERE name = 'b' RETURN *"))).not.toMatch(/thing\.name/)
  })

  queryTest('refuse values that break them, unknown attributes and names', [base, things], async (db) => {
    expect((await db.failure('CREATE UNIQUE INDEX i ON Thing (name)')).type).toBe('UniqueViolation')
    expect((await db.failure("DELETE Thing WHERE name = 'x'; CREATE UNIQUE INDEX i ON Thing (name)")).type).toBe(
      'UniqueViolation',
    )
    expect((await db.failure('CREATE INDEX i ON Thing (nme)')).message).toMatch(/nme/)
    expect((await db.failure('DROP INDEX nothing')).type).toBe('IndexNotFound')
    await db.rows('CREATE INDEX i ON Thing (name)')
    expect((await db.failure('CREATE INDEX i ON Thing (name)')).type).toBe('IndexExists')
    await db.rows("DELETE Thing WHERE name = 'b'; DROP INDEX i; CREATE UNIQUE INDEX i ON Thing (name)")
    expect((await db.failure("CREATE Thing {name: 'a'}")).type).toBe('UniqueViolation')
  })

  queryTest(
    'with other statements are part of their transaction, up to a number of objects',
    [base, things],
    async (db) => {
      const error = await db.failure("CREATE Thing {name: 'c'}; CREATE INDEX i ON Thing (name)")
      expect(error.type).toBe('LimitExceeded')
      expect(error.message).toMatch(/3/)
      await db.rows('CREATE INDEX i ON Thing (name)')
      expect(await db.rows('FROM Thing RETURN COUNT() AS n')).toEqual([{ n: 3 }])
    },
    { limits: { transactionIndexObjectsMax: 3 } },
  )
})
