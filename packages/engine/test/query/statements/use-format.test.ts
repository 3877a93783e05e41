/** USE … FORMAT: how texts are read as dates and times (DO, sections 3 and 5). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect } from 'vitest'
import { type QueryDatabase, queryTest } from '../query-database.ts'

const importDir = mkdtempSync(join(tmpdir(), 'ashlar-formats-'))
writeFileSync(join(importDir, 'events.csv'), 'day,at\n 2/29/12,Feb 29 2012 11:30 PM\n12/1/11,dec 1 2011 01:05 am\n')
afterAll(() => rmSync(importDir, { recursive: true }))

const schema =
  'UPDATE SCHEMA { CREATE CLASS Event {day: Date, clock: Time, at: DateTime, zoned: DateTime{Storage: DateTimeOffset}} }'

/** What the text is in that format; null where it is nothing. */
async function read(db: QueryDatabase, type: string, format: string, text: string): Promise<unknown> {
  const word = type === 'DateTimeOffset' ? 'DateTime' : type
  const rows: unknown[] = await db.rows(`USE ${word} FORMAT '${format}'; SHOW CAST('${text}' AS ${type})`)
  return rows[0]
}

type Expected = readonly (readonly [type: string, format: string, text: string, value: string | null])[]

const byLetters: Expected = [
  ['Date', 'DD.MM.YYYY', '01.12.2024', '2024-12-01'],
  ['Date', 'dd.MM.yyyy', '1.2.2024', '2024-02-01'],
  ['Time', 'HH.mm', '08.05', '08:05:00'],
  ['Time', 'HHmm', '0805', '08:05:00'],
  ['Time', 'HHmm', '805', null],
  ['Time', 'HHmmss,ffff', '080509,25', '08:05:09.25'],
  ['DateTime', 'yyyyMMdd HH:mm', '20240229 08:05', '2024-02-29T08:05:00'],
  ['Date', 'dd.MM.yyyy', '30.02.2024', null],
  ['Date', 'dd.MM.yyyy', '2024-02-29', null],
  ['Date', '(dd) [MM]*yyyy?', '(29) [02]*2024?', '2024-02-29'],
]

const byPercents: Expected = [
  ['Date', '%Y-%m-%d', '2024-02-29', '2024-02-29'],
  ['Date', '%d.%m.%Y', '9.2.2024', '2024-02-09'],
  ['Date', '%m/%d/%y', '02/29/68', '2068-02-29'],
  ['Date', '%m/%d/%y', '02/28/69', '1969-02-28'],
  ['Date', '%m/%d/%y', '12/31/99', '1999-12-31'],
  ['Date', '%m/%d/%y', '12/31/00', '2000-12-31'],
  ['Date', '%e %b %Y', ' 9 fEb 2024', '2024-02-09'],
  ['Date', '%b %e %Y', 'Feb  9 2024', '2024-02-09'],
  ['Date', '%b %e, %Y', 'MAR 29, 2024', '2024-03-29'],
  ['Date', '%B %d, %Y', 'september 30, 2024', '2024-09-30'],
  ['Date', '%d%b%Y', '01may2024', '2024-05-01'],
  ['Date', '%Y%j', '2024060', '2024-02-29'],
  ['Date', '%j/%Y', '1/2023', '2023-01-01'],
  ['Date', '%Y.%j', '2024.366', '2024-12-31'],
  ['Date', '%Y.%j', '2023.366', null],
  ['Date', '%Y.%j', '2023.0', null],
  ['Date', '%Y.%j (%m)', '2024.60 (2)', '2024-02-29'],
  ['Date', '%Y.%j (%m)', '2024.60 (3)', null],
  ['Date', '%Y-%m-%d %H', '2024-02-29 08', '2024-02-29'],
  ['Date', '%Y-%m-%d %H', '2024-02-29 24', null],
  ['Time', '%H:%M:%S.%f', '08:05:09.123456789', '08:05:09.1234'],
  ['Time', '%H:%M:%S.%f', '08:05:09.5', '08:05:09.5'],
  ['Time', '%H:%M:%S.%f', '08:05:09.1234567891', null],
  ['Time', '%I:%M %p', '12:05 AM', '00:05:00'],
  ['Time', '%I:%M %p', '12:05 pm', '12:05:00'],
  ['Time', '%I:%M %p', '1:05 Pm', '13:05:00'],
  ['Time', '%I:%M', '11:05', '11:05:00'],
  ['Time', '%I:%M %p', '13:05 PM', null],
  ['Time', '%I:%M %p', '0:05 AM', null],
  ['Time', '%H:%M %p', '13:05 PM', '13:05:00'],
  ['Time', '%H:%M %p', '13:05 AM', null],
  ['Time', '%H %I', '13 01', '13:00:00'],
  ['Time', '%H %I', '13 02', null],
  ['Time', '%H:%M', '24:00', null],
  ['Time', '%H:%M', '8:5', '08:05:00'],
  ['Time', '%H%M', '0855', '08:55:00'],
  // Neither 11:01 nor 1:11.
  ['Time', '%H%M', '111', null],
  ['Date', '%d%m%Y', '9022024', '2024-02-09'],
  ['Date', '%Y%m%d', '2024029', '2024-02-09'],
  ['Date', '%Y%m%d', '2024209', null],
  ['Date', '%Y%j', '202460', null],
  ['DateTime', '%d/%b/%Y:%H:%M:%S %z', '29/Feb/2024:08:05:09 +0530', '2024-02-29T02:35:09'],
  ['DateTime', '%Y-%m-%dT%H:%M:%S%z', '2024-02-29T08:05:09-05:00', '2024-02-29T13:05:09'],
  ['DateTime', '%Y-%m-%dT%H:%M:%S%z', '2024-02-29T08:05:09Z', '2024-02-29T08:05:09'],
  ['DateTime', '%Y-%m-%dT%H:%M:%S%z', '2024-02-29T08:05:09+1500', null],
  ['DateTime', '%Y %H %z', '9999 23 -1200', '9999-01-02T11:00:00'],
  ['DateTime', '%d.%m.%Y %H %z', '31.12.9999 23 -1200', null],
  ['DateTimeOffset', '%Y%m%d%H%M%S%z', '20240229080509+0530', '2024-02-29T08:05:09+05:30'],
  ['DateTimeOffset', '%Y%m%d%H%M%S', '20240229080509', '2024-02-29T08:05:09Z'],
  ['Date', '100%% %Y.%m.%d (*)', '100% 2024.02.29 (*)', '2024-02-29'],
  ['Date', '%Y-%m-%d', '2024-02-29x', null],
  ['Date', '%Y-%m-%d', '24-02-29', null],
  ['Date', 'year %Y', 'YEAR 2024', null],
  ['Date', '%Y yyyy', '2024 yyyy', '2024-01-01'],
]

async function expectRead(db: QueryDatabase, expected: Expected): Promise<void> {
  const got: unknown[] = []
  for (const [type, format, text] of expected) got.push([type, format, text, await read(db, type, format, text)])
  expect(got).toEqual(expected)
}

describe('USE … FORMAT', () => {
  queryTest('has letters, or with a % the fields of strftime', [], async (db) => {
    await expectRead(db, byLetters)
    await expectRead(db, byPercents)
  })

  queryTest('says how literals in quotes and texts of files are read', [schema], async (db) => {
    await db.rows(`USE Date FORMAT '%d.%m.%Y'; USE Time FORMAT '%I %p'; USE DateTime FORMAT '%d.%m.%Y %H:%M %z';
      CREATE Event {day: '29.02.2024', clock: '8 PM', at: '29.02.2024 08:05 +0530', zoned: '29.02.2024 08:05 -0100'}`)
    const event = {
      day: '2024-02-29',
      clock: '20:00:00',
      at: '2024-02-29T02:35:00',
      zoned: '2024-02-29T08:05:00-01:00',
    }
    expect(await db.rows('FROM Event RETURN day, clock, at, zoned')).toEqual([event])
    const found = await db.rows("USE Date FORMAT '%e %B %Y'; FROM Event WHERE day = '29 february 2024' RETURN clock")
    expect(found).toEqual([{ clock: '20:00:00' }])
    expect(
      await db.rows("USE Date FORMAT '%e %B %Y'; MATCH (e:Event {day: '29 february 2024'}) RETURN e.clock AS c"),
    ).toEqual([{ c: '20:00:00' }])
    const list = await db.rows(
      "USE Date FORMAT '%e %b %Y'; FROM Event WHERE day IN LIST{'1 Jan 2000', '29 feb 2024'} RETURN clock",
    )
    expect(list).toEqual(found)
  })

  queryTest(
    'says how the texts of files are read',
    [schema],
    async (db) => {
      await db.rows(`USE Date FORMAT '%m/%d/%y'; USE DateTime FORMAT '%b %e %Y %I:%M %p';
        FOR EACH r IN IMPORT CSV 'events.csv' USE HEADER => (CREATE Event {day: $r.day, at: $r.at})`)
      expect(await db.rows('FROM Event ORDER BY day RETURN day, at')).toEqual([
        { day: '2011-12-01', at: '2011-12-01T01:05:00' },
        { day: '2012-02-29', at: '2012-02-29T23:30:00' },
      ])
    },
    { importDir },
  )

  queryTest('says nothing of how values are written', [schema], async (db) => {
    for (const format of ['dd/MM yyyy', '%d/%m %Y']) {
      expect(await db.rows(`USE Date FORMAT '${format}'; SHOW CAST(2024-02-29 AS String)`)).toEqual(['2024-02-29'])
      expect(await db.rows(`USE Date FORMAT '${format}'; SHOW CAST('29/02 2024' AS Date)`)).toEqual(['2024-02-29'])
    }
  })

  queryTest('holds in the statements after it, of this text', [schema], async (db) => {
    const text = "USE Date FORMAT '%d.%m.%Y'; CREATE Event {day: '2024-02-29'}"
    const error = await db.failure(text)
    expect(error).toMatchObject({ type: 'QueryError', extensions: { line: 1, column: text.indexOf("'2024") + 1 } })
    expect(error.message).toMatch(/'2024-02-29' is not written as %d\.%m\.%Y/)
    const lists = "SHOW CAST('29.02.2024' AS Date) = 2024-02-29"
    expect(await db.rows(lists)).toEqual([null])
    expect(await db.rows(`USE Date FORMAT '%d.%m.%Y'; ${lists}`)).toEqual([true])
    expect(await db.rows(`USE Date FORMAT '%d.%m.%Y'; USE Date FORMAT 'dd.MM.yyyy'; ${lists}`)).toEqual([true])
    expect(await db.rows(lists)).toEqual([null])
  })

  queryTest('refuses what is no format', [], async (db) => {
    const refused: Readonly<Record<string, RegExp>> = {
      "Date FORMAT 'short'": /a format has some of yyyy, MM, dd, HH, mm, ss and f/,
      "Date FORMAT '100%%'": /a format has some of yyyy/,
      "Date FORMAT '%Y-%q'": /a format has no field %q; there are %Y %y %m %d %e %b %B %j %H %I %p %M %S %f %z and %%/,
      "Date FORMAT '%Y %'": /a format has no field %;/,
      "Date FORMAT '%d.%m.%Y %z'": /%z is for DateTime: a date has no offset/,
      "Time FORMAT '%H:%M%z'": /%z is for DateTime: a time has no offset/,
      "Date FORMAT '%d.%d.%Y'": /a format has %d once/,
      "Date FORMAT 'yyyy-MM-dd YYYY'": /a format has YYYY once/,
      "Time FORMAT 'f.ff.fff'": /a format has ff once/,
      [`Date FORMAT '%Y${' '.repeat(200)}x'`]: /a format has at most 200 characters/,
    }
    for (const [use, message] of Object.entries(refused)) {
      const error = await db.failure(`USE ${use}`)
      expect({ use, type: error.type, at: error.extensions.column }).toEqual({ use, type: 'QueryError', at: 1 })
      expect(error.message).toMatch(message)
    }
  })
})
