/** IMPORT CSV, with and without steps, and only below its directory (DO, section 3). */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openQueryDatabase, queryTest } from '../query-database.ts'

const root = mkdtempSync(join(tmpdir(), 'ashlar-import-'))
const importDir = join(root, 'imports')
mkdirSync(join(importDir, 'deep'), { recursive: true })
writeFileSync(join(root, 'secret.csv'), 'secret\n')
writeFileSync(join(importDir, 'things.csv'), 'name,size\nplain,1\n"quoted, ""it"" is",2\n"two\nlines",3\nshort\n')
writeFileSync(join(importDir, 'deep', 'bare.csv'), '\ufeffa,1\r\nb,2,extra\r\n\r\nc\r\n')
writeFileSync(join(importDir, 'empty.csv'), '')
writeFileSync(join(importDir, 'twice.csv'), 'a,a\n1,2\n')
writeFileSync(join(importDir, 'broken.csv'), 'a,b\n"never ends,2\n')
writeFileSync(
  join(importDir, 'bad-value.csv'),
  `name,size\n${Array.from({ length: 10 }, (_, i) => `n${i},${i === 7 ? 'x' : i}`).join('\n')}\n`,
)
symlinkSync(join(root, 'secret.csv'), join(importDir, 'link.csv'))
symlinkSync(join(importDir, 'loop.csv'), join(importDir, 'loop.csv'))
afterAll(() => rmSync(root, { recursive: true }))

const schema = 'UPDATE SCHEMA { CREATE CLASS Thing {name: String, size: Integer} }'
const fill =
  "FOR EACH r IN IMPORT CSV 'things.csv' USE HEADER => (CREATE Thing {name: $r.name, size: CAST($r.size AS Integer)})"

describe('IMPORT CSV', () => {
  queryTest(
    'gives rows by the names of the header, or by their places',
    [schema, fill],
    async (db) => {
      expect(await db.rows('FROM Thing ORDER BY size RETURN name, size')).toEqual([
        { name: 'plain', size: 1 },
        { name: 'quoted, "it" is', size: 2 },
        { name: 'two\nlines', size: 3 },
        { name: 'short', size: null },
      ])
      expect(await db.rows("LET rows = IMPORT CSV 'deep/bare.csv'; SHOW $rows")).toEqual([
        [['a', '1'], ['b', '2', 'extra'], ['c']],
      ])
      expect(await db.rows("LET rows = IMPORT CSV 'things.csv' USE HEADER; SHOW $rows.name")).toEqual([
        ['plain', 'quoted, "it" is', 'two\nlines', 'short'],
      ])
    },
    { importDir },
  )

  queryTest(
    'is one transaction, or commits in steps',
    [schema],
    async (db) => {
      const rows = "FOR EACH r IN IMPORT CSV 'bad-value.csv' USE HEADER"
      const create = "=> (IF $r.size = 'x' THEN (CREATE Thing {size: 3000000000}) ELSE (CREATE Thing {name: $r.name}))"
      expect((await db.failure(`${rows} ${create}`)).type).toBe('ValueNotAllowed')
      expect(await db.rows('FROM Thing RETURN COUNT() AS n')).toEqual([{ n: 0 }])
      const error = await db.failure(`${rows} COMMIT EVERY 3 ${create}`)
      expect(error.type).toBe('ValueNotAllowed')
      expect(await db.rows('FROM Thing ORDER BY name RETURN name')).toEqual(
        Array.from({ length: 6 }, (_, i) => ({ name: `n${i}` })),
      )
      expect((await db.failure(`${rows} COMMIT EVERY 0 ${create}`)).type).toBe('QueryError')
      expect((await db.failure("LET a = IMPORT CSV 'things.csv' COMMIT EVERY 5")).message).toMatch(
        /COMMIT EVERY belongs to FOR EACH/,
      )
    },
    { importDir },
  )

  queryTest(
    'reads below its directory alone',
    [schema],
    async (db) => {
      const names = [
        '../secret.csv',
        'link.csv',
        'loop.csv',
        'nothing.csv',
        'deep',
        '.',
        '',
        '..',
        'deep/../../secret.csv',
        join(root, 'secret.csv'),
        'a\\0b',
        'x'.repeat(5000),
        'things.csv/x',
      ]
      for (const name of names) {
        const error = await db.failure(`LET a = IMPORT CSV '${name}'; SHOW $a`)
        expect(error.type, name).toBe('QueryError')
        expect(error.message, name).toMatch(/there is no file/)
      }
    },
    { importDir },
  )

  queryTest(
    'tells what is wrong with a file',
    [schema],
    async (db) => {
      expect((await db.failure("LET a = IMPORT CSV 'empty.csv' USE HEADER")).message).toMatch(/has no header/)
      expect((await db.failure("LET a = IMPORT CSV 'twice.csv' USE HEADER")).message).toMatch(/same name/)
      expect((await db.failure("LET a = IMPORT CSV 'broken.csv'")).message).toMatch(/broken\.csv is not CSV/)
      expect(await db.rows("LET a = IMPORT CSV 'empty.csv'; SHOW $a")).toEqual([[]])
      expect((await db.failure("IMPORT CSV 'things.csv'")).message).toMatch(/source of LET or FOR EACH/)
      expect((await db.failure("FOR EACH r IN IMPORT CSV 'things.csv' USE HEADER => (SHOW $r.nme)")).message).toMatch(
        /nme.*Did you mean name/,
      )
    },
    { importDir },
  )

  it('is an error where the server was given no directory', async () => {
    const { db, close } = await openQueryDatabase([schema])
    expect((await db.failure("LET a = IMPORT CSV 'things.csv'")).message).toMatch(/importDir/)
    await close()
  })
})
