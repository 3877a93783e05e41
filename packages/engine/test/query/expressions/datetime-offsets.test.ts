/** Datetimes with an offset where one without is meant: it is applied, which makes it UTC, and dropped (DO, section 5). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'

const importDir = mkdtempSync(join(tmpdir(), 'ashlar-offsets-'))
writeFileSync(join(importDir, 'logs.csv'), 'at\n2024-02-29T08:05:09+05:30\n2024-02-29 08:05:09 Z\n')
afterAll(() => rmSync(importDir, { recursive: true }))

const schema = [
  `UPDATE SCHEMA {
     CREATE CLASS Span EMBEDDABLE {begin: DateTime}
     CREATE CLASS Log {name: String, at: DateTime, all: List{Element: DateTime}, span: Object{Class: Span},
                       zoned: DateTime{Storage: DateTimeOffset}}
   }`,
  'CREATE UNIQUE INDEX logAt ON Log (at)',
]

/** 02:35:09 UTC, written in every way. */
const literals = [
  '2024-02-29 02:35:09',
  '2024-02-29 02:35:09Z',
  '2024-02-29 02:35:09 Z',
  '2024-02-29 08:05:09 +05:30',
  '2024-02-29 08:05:09+05:30',
  "'2024-02-29T08:05:09+05:30'",
  "'2024-02-28 21:35:09 -05:00'",
]
const utc = '2024-02-29T02:35:09'
const beyond = ['0001-01-01 00:00:00 +05:30', "'9999-12-31T23:00:00-05:30'"]

describe('a datetime with an offset, for one without', () => {
  queryTest('is taken as a value', schema, async (db) => {
    for (const literal of literals) {
      await db.rows(`CREATE Log {at: ${literal}, all: LIST{${literal}}, span: Span{begin: ${literal}}}`)
      await db.rows(`UPDATE Log SET at TO ${literal} ADD ${literal} TO all SET span.begin TO ${literal}`)
      expect(await db.rows('DELETE Log RETURN at, all, span.begin AS begin')).toEqual([
        { at: utc, all: [utc, utc], begin: utc },
      ])
    }
  })

  queryTest(
    'is compared, also by an index',
    [...schema, `CREATE Log {name: 'x', at: ${literals[0]}, all: LIST{${literals[0]}}}`],
    async (db) => {
      for (const literal of literals) {
        for (const predicate of [
          `at = ${literal}`,
          `${literal} = at`,
          `at >= ${literal} AND at <= ${literal}`,
          `NOT at < ${literal}`,
          `at IN LIST{${literal}}`,
          ...(literal.startsWith("'")
            ? []
            : [`at IN LIST{2000-01-01 00:00:00, ${literal}}`, `COALESCE(zoned, ${literal}) = at`]),
          `${literal} IN all`,
          `all ANY_EQUAL ${literal}`,
        ]) {
          expect({ predicate, rows: await db.rows(`FROM Log WHERE ${predicate} RETURN name`) }).toEqual({
            predicate,
            rows: [{ name: 'x' }],
          })
        }
        expect(await db.rows(`MATCH (l:Log {at: ${literal}}) RETURN l.name AS name`)).toEqual([{ name: 'x' }])
      }
      expect(JSON.stringify(await db.analyze(`FROM Log WHERE at = ${literals[3]} RETURN name`))).toContain('logAt')
      const parameters = {
        one: '2024-02-29T08:05:09+05:30',
        more: ['2024-02-29T02:35:09Z'],
        log: { span: { begin: '2024-02-29T02:35:09 Z' } },
      }
      expect(await db.rows('FROM Log WHERE at = $one AND at IN $more RETURN name', parameters)).toEqual([{ name: 'x' }])
      await db.rows('UPDATE Log SET span TO $log.span', parameters)
      expect(
        await db.rows(
          'UPSERT Log {name: "y", at: $one} ON (at); FROM Log RETURN name, span.begin AS begin',
          parameters,
        ),
      ).toEqual([{ name: 'y', begin: utc }])
    },
  )

  queryTest('stands with others as the first of them does', schema, async (db) => {
    await db.rows("CREATE Log {name: 'x'}")
    const [row] = await db.rows(`FROM Log RETURN LIST{2024-01-01 08:00:00, ${literals[3]}} AS plain,
      LIST{null, ${literals[3]}, 2024-01-01 08:00:00} AS zoned, COALESCE(at, ${literals[3]}) AS at,
      COALESCE(zoned, 2024-01-01 08:00:00) AS other`)
    expect(row).toEqual({
      plain: ['2024-01-01T08:00:00', utc],
      zoned: [null, '2024-02-29T08:05:09+05:30', '2024-01-01T08:00:00Z'],
      at: utc,
      other: '2024-01-01T08:00:00Z',
    })
  })

  queryTest(
    'is one also where it comes from a row, a file or a cast',
    schema,
    async (db) => {
      await db.rows(`CREATE Log {name: 'x', zoned: ${literals[3]}}; UPDATE Log SET at TO zoned`)
      expect(
        await db.rows(`FROM Log RETURN at, at = zoned AS same, CAST('2024-02-29 08:05:09 +05:30' AS DateTime) AS cast`),
      ).toEqual([{ at: utc, same: true, cast: utc }])
      await db.rows("DELETE Log; FOR EACH r IN IMPORT CSV 'logs.csv' USE HEADER => (CREATE Log {at: $r.at})")
      expect(await db.rows('FROM Log ORDER BY at RETURN at')).toEqual([{ at: utc }, { at: '2024-02-29T08:05:09' }])
    },
    { importDir },
  )

  queryTest('is refused where it is then beyond the years 1 to 9999', schema, async (db) => {
    for (const literal of beyond) {
      for (const text of [
        `CREATE Log {at: ${literal}}`,
        `CREATE Log {all: LIST{${literal}}}`,
        `FROM Log WHERE at = ${literal} RETURN *`,
      ]) {
        const error = await db.failure(text)
        expect({ text, type: error.type, line: error.extensions.line }).toEqual({ text, type: 'QueryError', line: 1 })
        expect(error.message).toMatch(/beyond the years 0001 to 9999 when its offset is applied/)
      }
    }
    await db.rows(`CREATE Log {zoned: ${beyond[0]}}`)
    expect((await db.failure('UPDATE Log SET at TO zoned')).message).toMatch(
      /'0001-01-01T00:00:00\+05:30' is beyond the years/,
    )
    expect(await db.rows("SHOW CAST('0001-01-01 00:00:00 +05:30' AS DateTime)")).toEqual([null])
    expect(await db.rows('FROM Log RETURN CAST(zoned AS DateTime) AS none')).toEqual([{ none: null }])
  })
})
