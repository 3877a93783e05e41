/** CAST to every type, and what it refuses (DO, section 4, Operators). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { everyType, everyValue } from './every-type.ts'
import { expectRefusals, expectValues, expectValuesOf } from './expect-expressions.ts'

const guid = '00000000-0000-4000-8000-00000000000a'
const names = [
  'Boolean',
  'Character',
  'Integer',
  'Real',
  'Guid',
  'String',
  'Date',
  'Time',
  'DateTime',
  'DateTimeOffset',
  'Interval',
  'Bytes',
]

describe('CAST', () => {
  queryTest('to a number', [], async (db) => {
    await expectValues(db, {
      "CAST('42' AS Integer)": 42,
      "CAST(' -7 ' AS Integer)": -7,
      "CAST('9007199254740993' AS Integer) = 9007199254740993": true,
      'CAST(2.9 AS Integer)': 2,
      'CAST(-2.9 AS Integer)': -2,
      'CAST(true AS Integer)': 1,
      'CAST(false AS Integer)': 0,
      'CAST(5 AS Integer)': 5,
      "CAST('2.5' AS Real)": 2.5,
      "CAST('1e3' AS Real)": 1000,
      "CAST('.097' AS Real)": 0.097,
      "CAST('5.' AS Real)": 5,
      "CAST('+5' AS Real)": 5,
      "CAST('+5' AS Integer)": 5,
      'CAST(5 AS Real)': 5,
      'CAST(7 AS Real) / 2': 3.5,
      'CAST(0.1 AS Real{Storage: B32})': 0.1,
      'CAST(0.1 AS Real{Storage: B32}) + 0.0': Math.fround(0.1),
      'cast(5 as real)': 5,
    })
  })

  queryTest('to a text, and back', [everyType, everyValue], async (db) => {
    await expectValues(db, {
      'CAST(42 AS String)': '42',
      'CAST(18446744073709551615 AS String)': '18446744073709551615',
      'CAST(2.5 AS String)': '2.5',
      'CAST(true AS String)': 'true',
      'CAST(2024/2/9 AS String)': '2024-02-09',
      'CAST(8:05:09.250 AS String)': '08:05:09.25',
      'CAST(2024-02-29 08:05:09 AS String)': '2024-02-29T08:05:09',
      'CAST(2024-02-29 08:05:09 +05:30 AS String)': '2024-02-29T08:05:09+05:30',
      'CAST(INTERVAL{DAYS: 1, HOURS: 2} AS String)': 'P1DT2H',
      'CAST(3-3-1-9 AS String)': '3-3-1-9',
      "CAST('a' AS String)": 'a',
      "CAST('a' AS Character)": 'a',
      "CAST('😀' AS Character)": '😀',
    })
    const attributes = ['flag', 'letter', 'tiny', 'whole', 'big', 'natural', 'real', 'guid', 'text', 'day', 'clock']
    for (const name of [...attributes, 'moment', 'zoned', 'span', 'data']) {
      const type = { flag: 'Boolean', letter: 'Character', real: 'Real', guid: 'Guid', text: 'String', day: 'Date' }[
        name
      ]
      const other = { clock: 'Time', moment: 'DateTime', zoned: 'DateTimeOffset', span: 'Interval', data: 'Bytes' }[
        name
      ]
      const back = `CAST(CAST(${name} AS String) AS ${type ?? other ?? 'Integer'})`
      await expectValuesOf(db, "Value WHERE label = 'low'", { [`${back} = ${name}`]: true })
      await expectValuesOf(db, "Value WHERE label = 'none'", { [back]: null })
    }
    await expectValuesOf(db, "Value WHERE label = 'low'", {
      'CAST(guid AS String)': guid,
      'CAST(single AS String)': '1',
    })
  })

  queryTest('to a truth', [], async (db) => {
    await expectValues(db, {
      "CAST('true' AS Boolean)": true,
      "CAST('FALSE' AS Boolean)": false,
      'CAST(0 AS Boolean)': false,
      'CAST(-3 AS Boolean)': true,
      'CAST(true AS Boolean)': true,
    })
  })

  queryTest('to a date, a time, a datetime and an interval', [], async (db) => {
    await expectValues(db, {
      "CAST('2024-02-29' AS Date)": '2024-02-29',
      'CAST(2024-02-29 08:05:09 AS Date)': '2024-02-29',
      'CAST(2024-02-29 23:30:00 -05:00 AS Date)': '2024-02-29',
      "CAST('08:05:09.25' AS Time)": '08:05:09.25',
      'CAST(2024-02-29 08:05:09 AS Time)': '08:05:09',
      'CAST(2024-02-29 23:30:00 -05:00 AS Time)': '23:30:00',
      "CAST('2024-02-29 08:05:09' AS DateTime)": '2024-02-29T08:05:09',
      "CAST('2024-02-29T08:05:09' AS DateTime)": '2024-02-29T08:05:09',
      'CAST(2024-02-29 AS DateTime)': '2024-02-29T00:00:00',
      'CAST(2024-02-29 08:05:09 +05:30 AS DateTime)': '2024-02-29T02:35:09',
      "CAST('2024-02-29 08:05:09+05:30' AS DateTimeOffset)": '2024-02-29T08:05:09+05:30',
      'CAST(2024-02-29 AS DateTimeOffset)': '2024-02-29T00:00:00Z',
      'CAST(2024-02-29 08:05:09 AS DateTimeOffset) = 2024-02-29 08:05:09Z': true,
      "CAST('P1DT2H' AS Interval)": 'P1DT2H',
      "CAST('P1D' AS Interval) = INTERVAL{HOURS: 24}": true,
      [`CAST('${guid.toUpperCase()}' AS Guid)`]: guid,
    })
  })

  queryTest('of null is null, and so is a text that is no such value', [], async (db) => {
    for (const name of names) await expectValues(db, { [`CAST(null AS ${name})`]: null })
    for (const name of names.filter((name) => name !== 'String'))
      await expectValues(db, { [`CAST('??' AS ${name})`]: null })
    await expectValues(db, {
      "CAST('2.5' AS Integer)": null,
      "CAST('2023-02-29' AS Date)": null,
      "CAST('25:00:00' AS Time)": null,
      "CAST('18446744073709551616' AS Integer)": null,
      'CAST(1e30 AS Integer)': null,
      'CAST(SQRT(-1) AS Integer)': null,
    })
  })

  queryTest('between types without a way from one to the other is refused', [everyType], async (db) => {
    await expectRefusals(db, {
      'CAST(5 AS Date)': [1, /an integer cannot be cast to date/],
      'CAST(5 AS Character)': [1, /an integer cannot be cast to character/],
      'CAST(5 AS Guid)': [1, /an integer cannot be cast to guid/],
      'CAST(5 AS Interval)': [1, /an integer cannot be cast to interval/],
      'CAST(2.5 AS Boolean)': [1, /a real cannot be cast to boolean/],
      'CAST(true AS Real)': [1, /a boolean cannot be cast to real/],
      'CAST(2024-02-29 AS Integer)': [1, /a date cannot be cast to integer/],
      'CAST(2024-02-29 AS Time)': [1, /a date cannot be cast to time/],
      'CAST(08:00:00 AS DateTime)': [1, /a time cannot be cast to datetime/],
      'CAST(INTERVAL{DAYS: 1} AS Time)': [1, /an interval cannot be cast to time/],
      'CAST(LIST{1} AS String)': [1, /a list of integer cannot be cast to string/],
      'CAST(LIST{1} AS Integer)': [1, /a list of integer cannot be cast to integer/],
      'CAST(3-3-1-9 AS Integer)': [1, /a reference cannot be cast to integer/],
      '1 + CAST(true AS Real)': [5, /a boolean cannot be cast/],
      'CAST(5 AS Valeu)': [11, /Valeu.*Value/],
      'CAST(5 AS Value)': [6, /only a reference is cast to class Every.Value, not an integer/],
    })
    await expectRefusals(db, { 'CAST(day AS Integer)': [1, /a date cannot be cast to integer/] }, 'FROM Value RETURN ')
  })

  queryTest(
    'of a reference to a class is null where the object is of another',
    [
      `UPDATE SCHEMA {
        CREATE CLASS Base {name: String}
        CREATE CLASS Derived SUPERCLASS Base {extra: Integer}
        CREATE CLASS Holder {held: Reference{Referenced: Base}}
      }`,
      `CREATE Holder {held: CREATE Base {name: 'base'}};
       CREATE Holder {held: CREATE Derived {name: 'derived', extra: 5}};
       CREATE Holder {}`,
    ],
    async (db) => {
      const rows = await db.rows(
        'FROM Holder ORDER BY $$ID RETURN held.name AS name, CAST(held AS Derived).extra AS extra, IS_NULL(CAST(held AS Derived)) AS none',
      )
      expect(rows).toEqual([
        { name: 'base', extra: null, none: true },
        { name: 'derived', extra: 5, none: false },
        { name: null, extra: null, none: true },
      ])
      expect(await db.rows('FROM Holder WHERE CAST(held AS Derived).extra = 5 RETURN held.name')).toEqual([
        { 'held.name': 'derived' },
      ])
    },
  )
})
