/** A text reads, changes objects or changes the schema as the kinds of its statements say. */
import { describe, expect, it } from 'vitest'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { effectsOf } from '../../src/query/classify.ts'
import type { Statement } from '../../src/query/language/ast.ts'
import type { Effect } from '../../src/query/statements/statement-kind.ts'
import { openQueryDatabase } from './query-database.ts'

const texts: Readonly<Record<Effect, readonly string[]>> = {
  read: [
    'FROM Car RETURN *',
    'RETURN km FROM Car WHERE km > 1',
    'LOOKUP Car WHERE km == 1',
    'MATCH p = (:Car)-->(:Car) RETURN p',
    'SHOW CLASSES',
    'LET a = 1; SHOW $a',
    'LET a = (LOOKUP Car WHERE km == 1)',
    "USE DATE FORMAT 'yyyy-MM-dd'",
    'IF true THEN (SHOW 1)',
    'FOR EACH a IN LIST{1, 2} => (SHOW $a)',
    'EXPLAIN DELETE Car',
    'IF true THEN (EXPLAIN DELETE Car)',
  ],
  write: [
    'CREATE Car {km: 1}',
    'UPSERT Car {km: 1} ON (km)',
    'UPDATE Car SET km TO 1',
    'DELETE Car',
    'SHOW 1; DELETE Car; SHOW 2',
    'LET a = CREATE Car {km: 1}',
    'SHOW LIST{CREATE Car {km: 1}}',
    'IF false THEN (SHOW 1) ELSE (DELETE Car)',
    'FOR EACH a IN LIST{1, 2} => (IF true THEN (UPDATE Car SET km TO $a))',
    'FROM Car WHERE owner == (CREATE Car {km: 1}) RETURN *',
  ],
  define: [
    'UPDATE SCHEMA { DROP CLASS Car }',
    'CREATE INDEX byKm ON Car(km)',
    'DROP INDEX byKm',
    'CREATE Car {km: 1}; DROP INDEX byKm; FROM Car RETURN *',
    'IF true THEN (UPDATE SCHEMA { DROP CLASS Car })',
  ],
}

async function withDatabase(test: (fd: FederatedDatabase) => void | Promise<void>): Promise<void> {
  const { db, close } = await openQueryDatabase([])
  await test(db.fd)
  await close()
}

describe('classify', () => {
  for (const [effect, all] of Object.entries(texts)) {
    it(`tells which texts ${effect}, without the classes that they name`, async () => {
      await withDatabase(async (fd) => {
        const found = await Promise.all(all.map(async (text) => [text, await fd.classify({ text })]))
        expect(found).toEqual(all.map((text) => [text, effect]))
      })
    })
  }

  it('takes what is explained for reading, and what is analyzed for what it is', async () => {
    const classified = async (text: string, isAnalyzed: boolean): Promise<unknown> => {
      let effect: unknown
      await withDatabase(async (fd) => {
        effect = await fd.classify({ text, explain: { isAnalyzed, format: 'json' } })
      })
      return effect
    }
    expect(await classified('DELETE Car; SHOW 1', false)).toBe('read')
    expect(await classified('DELETE Car; SHOW 1', true)).toBe('write')
    // The parameter says what is done with what the text explains.
    expect(await classified('EXPLAIN DELETE Car', true)).toBe('write')
    expect(await classified('EXPLAIN ANALYZE DELETE Car', false)).toBe('read')
    expect(await classified('EXPLAIN EXPLAIN DELETE Car', true)).toBe('read')
    await withDatabase(async (fd) => {
      expect(await fd.classify({ text: 'EXPLAIN DELETE Car' })).toBe('read')
      expect(await fd.classify({ text: 'EXPLAIN ANALYZE DELETE Car' })).toBe('write')
      const explain = { isAnalyzed: true, format: 'json' } as const
      const effects = await fd.effects({ text: 'EXPLAIN DELETE Car; DROP INDEX byKm', explain })
      expect([...effects].sort()).toEqual(['define', 'read', 'write'])
    })
  })

  it('refuses what the query would be refused for before it runs', async () => {
    await withDatabase(async (fd) => {
      await expect(fd.classify({ text: 'DELETE' })).rejects.toMatchObject({ type: 'QuerySyntaxError' })
      const text = `SHOW '${'x'.repeat(fd.limits.queryCharactersMax)}'`
      await expect(fd.classify({ text })).rejects.toMatchObject({ type: 'LimitExceeded' })
    })
  })

  it('lets other work run between the statements of long texts', async () => {
    await withDatabase(async (fd) => {
      let turns = 0
      let isOver = false
      const count = (): void => {
        turns++
        if (!isOver) setImmediate(count)
      }
      setImmediate(count)
      const reads = 'SHOW 1; '.repeat(50_000)
      const classified = async (text: string, signal?: AbortSignal): Promise<unknown> => {
        try {
          return await fd.classify({ text, signal })
        } catch (error) {
          return error
        }
      }
      const leaving = new AbortController()
      const all = [
        classified(reads),
        classified(`${reads}DELETE`),
        classified(reads, leaving.signal),
        classified(`${reads}DELETE Car`),
      ]
      const reason = new Error('the client has left')
      leaving.abort(reason)
      expect(await Promise.all(all)).toEqual([
        'read',
        expect.objectContaining({ type: 'QuerySyntaxError' }),
        reason,
        'write',
      ])
      expect([...(await fd.effects({ text: `${reads}DELETE Car; DROP INDEX byKm` }))].sort()).toEqual([
        'define',
        'read',
        'write',
      ])
      isOver = true
      expect(turns).toBeGreaterThan(10)
    })
  })

  it('looks once at a statement that WITH names, however often it is used', () => {
    for (const [ofPart, effects] of [
      ['read', ['read']],
      ['write', ['read', 'write']],
    ] as const) {
      let looks = 0
      const named = {
        kind: ofPart === 'read' ? 'lookup' : 'delete',
        get where() {
          looks++
          return undefined
        },
      }
      const uses = Array.from({ length: 50 }, () => ({ kind: 'nested', statement: named }))
      const statement = { kind: 'select', where: { kind: 'operation', operands: uses } } as unknown as Statement
      expect([...effectsOf([statement])].sort()).toEqual(effects)
      expect(looks).toBeLessThan(5)
    }
  })
})
