/** The limits of statements, and cancelling (docs/contract.md; DO, section 3). */
import { describe, expect, it } from 'vitest'
import { openQueryDatabase, queryTest } from './query-database.ts'
import { shop, shopSchema } from './shop.ts'

const upTo = (last: number): number[] => Array.from({ length: last }, (_, i) => i + 1)

describe('limits', () => {
  const some = 'FOR EACH n IN LIST{1, 2, 3, 4, 5, 6} => (CREATE Item {title: CAST($n AS String), count: $n})'

  queryTest(
    'rows that are sorted or grouped',
    [...shop, some],
    async (db) => {
      for (const text of [
        'FROM Item WHERE count < 7 ORDER BY title RETURN *',
        'FROM Item WHERE count < 7 GROUP BY title RETURN COUNT()',
      ]) {
        const error = await db.failure(text)
        expect(error.type, text).toBe('LimitExceeded')
        expect(error.message, text).toMatch(/5/)
      }
      expect(await db.rows('FROM Item WHERE count < 7 ORDER BY title TAKE 2 RETURN count')).toEqual([
        { count: 1 },
        { count: 2 },
      ])
      expect(await db.rows('FROM Item WHERE count < 7 RETURN COUNT() AS n')).toEqual([{ n: 7 }])
      await db.rows('CREATE INDEX itemTitle ON Item (title)')
      expect(await db.rows('FROM Item WHERE count < 7 ORDER BY title RETURN title')).toHaveLength(7)
    },
    { limits: { sortedRowsMax: 5, statementDiskBytesMax: 0 } },
  )

  queryTest(
    'objects that one text changes',
    [
      shopSchema,
      'FOR EACH n IN LIST{1, 2, 3} => (CREATE Item {count: $n})',
      'FOR EACH n IN LIST{4, 5} => (CREATE Item {count: $n})',
    ],
    async (db) => {
      expect((await db.failure('FOR EACH n IN LIST{6, 7, 8, 9} => (CREATE Item {count: $n})')).message).toMatch(
        /changedObjectsMax/,
      )
      expect((await db.failure('UPDATE Item SET count TO 1')).type).toBe('LimitExceeded')
      expect((await db.failure('DELETE Item RETURN COUNT()')).type).toBe('LimitExceeded')
      expect(await db.rows('FROM Item ORDER BY count RETURN count')).toEqual(
        [1, 2, 3, 4, 5].map((count) => ({ count })),
      )
      expect(await db.rows('DELETE Item WHERE count < 4 RETURN COUNT() AS n')).toEqual([{ n: 3 }])
    },
    { limits: { changedObjectsMax: 3 } },
  )

  queryTest(
    'entries that one text writes, index entries included',
    [
      shopSchema,
      'CREATE INDEX itemCount ON Item (count)',
      `FOR EACH n IN LIST{${upTo(40)}} => (CREATE Item {count: $n})`,
    ],
    async (db) => {
      // An object and two entries of the index each, one that goes and one that comes.
      const failure = await db.failure('UPDATE Item SET count TO count + 100')
      expect(failure.type).toBe('LimitExceeded')
      expect(failure.message).toMatch(/100 entries at most \(commitEntriesMax\).*WHERE/)
      const counts = 'FROM Item ORDER BY count RETURN count'
      expect(await db.rows(counts)).toEqual(upTo(40).map((count) => ({ count })))
      for (const where of ['count < 20', 'count < 100']) {
        await db.rows(`UPDATE Item WHERE ${where} SET count TO count + 100`)
      }
      expect(await db.rows(counts)).toEqual(upTo(40).map((count) => ({ count: count + 100 })))
    },
    { limits: { commitEntriesMax: 100 } },
  )

  queryTest(
    'bytes that one text writes',
    [shopSchema],
    async (db) => {
      const title = 'x'.repeat(10_000)
      const create = 'FOR EACH n IN $numbers => (CREATE Item {count: $n, title: $title})'
      const failure = await db.failure(create, { title, numbers: upTo(4) })
      expect(failure).toMatchObject({
        type: 'LimitExceeded',
        message: expect.stringMatching(/40000 bytes.*commitBytesMax/),
      })
      expect(await db.rows('FROM Item RETURN count')).toEqual([])
      await db.rows(create, { title, numbers: upTo(3) })
      expect(await db.rows('FROM Item RETURN COUNT() AS n')).toEqual([{ n: 3 }])
    },
    { limits: { commitBytesMax: 40_000 } },
  )

  queryTest(
    'characters of a text',
    [],
    async (db) => {
      expect((await db.failure(`SHOW '${'x'.repeat(100)}'`)).type).toBe('LimitExceeded')
      expect(await db.rows("SHOW 'x'")).toEqual(['x'])
    },
    { limits: { queryCharactersMax: 50 } },
  )

  queryTest(
    'tokens of a statement, of which a text may have many',
    [],
    async (db) => {
      const list = (elements: number): string =>
        `SHOW LIST{${Array.from({ length: elements }, (_, i) => i).join(', ')}}`
      expect(await db.rows(Array.from({ length: 2_000 }, () => list(8)).join('; '))).toEqual([[0, 1, 2, 3, 4, 5, 6, 7]])
      const error = await db.failure(`SHOW 1;\n${list(9)}`)
      expect(error).toMatchObject({ type: 'LimitExceeded', message: expect.stringMatching(/20.*statementTokensMax/) })
      expect(error.message).toContain('Line 2, column ')
      const within = await db.failure(`IF true THEN (${list(1)}; ${list(1)}; ${list(1)})`)
      expect(within.type).toBe('LimitExceeded')
      await expect(db.fd.classify({ text: list(9) })).rejects.toMatchObject({ type: 'LimitExceeded' })
    },
    { limits: { statementTokensMax: 20 } },
  )

  it('time', async () => {
    // Already over when the text begins: the test does not depend on how fast the machine is.
    const { db, close } = await openQueryDatabase([], { limits: { statementMsMax: -1 } })
    const error = await db.failure('SHOW CLASSES; SHOW 1')
    expect(error).toMatchObject({ type: 'LimitExceeded', message: expect.stringMatching(/statementMsMax/) })
    await close()
  })
})

describe('a text that is cancelled', () => {
  it('ends where it is, and gives back its snapshot', async () => {
    const { db, close } = await openQueryDatabase(shop)
    const { chunks } = await db.fd.query({ text: 'FROM Order RETURN *', parameters: {} })
    for await (const _ of chunks) break
    await close()
  })

  it('that changes something leaves nothing', async () => {
    const { db, close } = await openQueryDatabase(shop)
    const controller = new AbortController()
    controller.abort(new Error('the client is gone'))
    await expect(
      db.fd.query({ text: 'DELETE Order RETURN COUNT()', parameters: {}, signal: controller.signal }),
    ).rejects.toThrow()
    expect(await db.rows('FROM Order RETURN COUNT() AS n')).toEqual([{ n: 5 }])
    await close()
  })
})
