/** `+ - * / %` on numbers, texts, dates and intervals (DO, section 4, Operators). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { everyType, everyValue } from './every-type.ts'
import { expectRefusals, expectValues, expectValuesOf } from './expect-expressions.ts'

describe('arithmetic', () => {
  queryTest('of whole numbers stays whole, and divides with truncation', [], async (db) => {
    await expectValues(db, {
      '1 + 1': 2,
      '1 - 3': -2,
      '6 * 7': 42,
      '7 / 2': 3,
      '-7 / 2': -3,
      '7 / -2': -3,
      '-7 / -2': 3,
      '1 / 2': 0,
      '7 % 3': 1,
      '-7 % 3': -1,
      '7 % -3': 1,
      '7 MODULO 3': 1,
      'MODULO(7, 3)': 1,
      '0x1F + 1': 32,
      '9007199254740993 / 1 = 9007199254740993': true,
      '9007199254740992 + 1 = 9007199254740993': true,
      '9007199254740993 % 10': 3,
      'CAST(9223372036854775806 + 1 AS String)': '9223372036854775807',
    })
  })

  queryTest('has a word and a call for each symbol', [], async (db) => {
    await expectValues(db, {
      '1 PLUS 2': 3,
      'PLUS(1, 2)': 3,
      '5 MINUS 2': 3,
      'minus(5, 2)': 3,
      '5 MULTIPLY 2': 10,
      'MULTIPLY(5, 2)': 10,
      '5 DIVIDE 2': 2,
      'DIVIDE(5, 2)': 2,
      '5 MODULO 3': 2,
      '5 PLUS 2 MULTIPLY 3': 11,
    })
  })

  queryTest('of reals, and of reals with whole numbers, is real', [], async (db) => {
    await expectValues(db, {
      '7 / 2.0': 3.5,
      '7.0 / 2': 3.5,
      '1 + 0.5': 1.5,
      '0.5 - 1': -0.5,
      '1.5 * 2': 3,
      '7.5 % 2': 1.5,
      '-7.5 % 2': -1.5,
      '1e300 * 10': 1e301,
      '1 / 3.0': 1 / 3,
    })
  })

  queryTest('binds as it is used to, and from the left', [], async (db) => {
    await expectValues(db, {
      '1 + 2 * 3': 7,
      '(1 + 2) * 3': 9,
      '10 - 3 - 2': 5,
      '100 / 10 / 2': 5,
      '100 / (10 / 2)': 20,
      '2 * 3 % 4': 2,
      '7 - -2': 9,
      '-2 * -3': 6,
      '- - 2': 2,
      '+5': 5,
      '-(1 + 2)': -3,
      '2 - 1 - 1 = 0': true,
      '2024 - 2 - 29': 1993,
    })
  })

  queryTest('by zero gives null', [everyType, everyValue], async (db) => {
    await expectValues(db, {
      '1 / 0': null,
      '1 % 0': null,
      '0 / 0': null,
      '1.5 / 0': null,
      '1 / 0.0': null,
      '1.5 % 0.0': null,
      'DIVIDE(1, 0)': null,
      'MODULO(1, 0)': null,
      '9223372036854775807 / 0': null,
      'INTERVAL{DAYS: 1} / 0': null,
      '1 / 0 + 1': null,
    })
    await expectValuesOf(db, "Value WHERE label = 'low'", {
      'whole / (whole - 1)': null,
      'big / (big - 1)': null,
      'natural % (natural - 1)': null,
      'real / (real - 1)': null,
    })
  })

  queryTest('of null is null', [everyType, everyValue], async (db) => {
    for (const operator of ['+', '-', '*', '/', '%', '&', '|', '^', '<<', '>>']) {
      await expectValues(db, {
        [`1 ${operator} null`]: null,
        [`null ${operator} 1`]: null,
        [`null ${operator} null`]: null,
      })
      await expectValuesOf(db, "Value WHERE label = 'none'", {
        [`whole ${operator} 1`]: null,
        [`1 ${operator} big`]: null,
        [`tiny ${operator} natural`]: null,
      })
    }
    await expectValues(db, { '-null': null, '~null': null, "'a' + null": null, '2024-02-29 + null': null })
    await expectValuesOf(db, "Value WHERE label = 'none'", {
      '-whole': null,
      '-real': null,
      '-span': null,
      '~big': null,
    })
  })

  queryTest('beyond what a type holds is an error that points at it', [everyType, everyValue], async (db) => {
    await expectRefusals(db, {
      '18446744073709551615 + 1': [1, /beyond what an integer holds/],
      '-9223372036854775808 - 1': [1, /beyond/],
      '9223372036854775807 * 9223372036854775807': [1, /beyond/],
      '1 + (18446744073709551615 * 2)': [5, /beyond/],
      '0 - 18446744073709551615': [1, /beyond/],
      '1e308 * 10': [1, /beyond what a real holds/],
      '1e308 + 1e308': [1, /beyond/],
      '-1e308 - 1e308': [1, /beyond/],
      '1e308 / 1e-10': [1, /beyond/],
      '1 << 64': [1, /beyond/],
      '1 << -1': [1, /beyond/],
      '9999-12-31 + INTERVAL{DAYS: 1}': [1, /beyond what a date holds/],
      '0001-01-01 00:00:00 - INTERVAL{SECONDS: 1}': [1, /beyond what a datetime holds/],
      'INTERVAL{DAYS: 5000000} + INTERVAL{DAYS: 1}': [1, /beyond what an interval holds/],
      'INTERVAL{DAYS: 5000001}': [1, /5,000,000 days/],
    })
    await expectRefusals(
      db,
      { 'big * 9223372036854775807 * 3 > 0': [1, /beyond/] },
      "FROM Value WHERE label = 'high' AND",
      ' RETURN *',
    )
  })

  queryTest('of stored numbers of all kinds', [everyType, everyValue], async (db) => {
    await expectValuesOf(db, "Value WHERE label = 'high'", {
      'tiny + whole': 4,
      'tiny * big': 4,
      'big - natural': 0,
      'natural - 3': -1,
      'big / 4': 0,
      'big / 4.0': 0.5,
      'whole / real': 1,
      'single + real': 4,
      '-big': -2,
      '-natural': -2,
      '-single': -2,
      '+tiny': 2,
      'big + 9007199254740991 = 9007199254740993': true,
      'big % natural': 0,
    })
    expect(await db.rows('FROM Value WHERE whole + 1 = 3 RETURN label')).toEqual([{ label: 'high' }])
  })

  queryTest('of dates, times and intervals', [everyType, everyValue], async (db) => {
    await expectValues(db, {
      '2024-02-28 + INTERVAL{DAYS: 1}': '2024-02-29',
      '2024-02-28 + INTERVAL{HOURS: 47}': '2024-02-29',
      '2024-03-01 - INTERVAL{DAYS: 1}': '2024-02-29',
      'INTERVAL{DAYS: 2} + 2024-02-28': '2024-03-01',
      '23:30:00 + INTERVAL{HOURS: 1}': '00:30:00',
      '00:30:00 - INTERVAL{HOURS: 1}': '23:30:00',
      '2024-02-28 23:30:00 + INTERVAL{MINUTES: 45}': '2024-02-29T00:15:00',
      '2024-03-01 00:00:00 - INTERVAL{MILLISECONDS: 1}': '2024-02-29T23:59:59.999',
      '2024-02-28 23:30:00 +05:30 + INTERVAL{HOURS: 1}': '2024-02-29T00:30:00+05:30',
      '2024-03-01 - 2024-02-28': 'P2D',
      '2024-02-28 - 2024-03-01': '-P2D',
      '2024-03-01 12:00:00 - 2024-03-01': 'PT12H',
      '2024-03-01 12:00:00 +02:00 - 2024-03-01 10:00:00Z': 'PT0S',
      '10:00:00 - 08:30:00': 'PT1H30M',
      'INTERVAL{DAYS: 1} + INTERVAL{HOURS: 2}': 'P1DT2H',
      'INTERVAL{DAYS: 1} - INTERVAL{HOURS: 2}': 'PT22H',
      'INTERVAL{HOURS: 2} * 3': 'PT6H',
      'INTERVAL{HOURS: 3} / 2': 'PT1H30M',
      'INTERVAL{HOURS: 3} / INTERVAL{HOURS: 2}': 1.5,
      '-INTERVAL{HOURS: 3}': '-PT3H',
      '2024-03-01 - 2024-02-28 = INTERVAL{DAYS: 2}': true,
    })
    await expectValuesOf(db, "Value WHERE label = 'low'", {
      'day + span': '2024-02-29',
      'day - span': '2024-02-27',
      'clock + INTERVAL{SECONDS: 1}': '08:05:10.25',
      'moment + span': '2024-02-29T08:05:09.25',
      'zoned + span': '2024-02-29T08:05:09.25+05:30',
      'day - 2024-01-01': 'P58D',
      'moment - day': 'PT8H5M9.25S',
      'moment - zoned': 'PT5H30M',
      'span * 2': 'P2D',
      '-span': '-P1D',
    })
  })

  queryTest('joins texts with +', [everyType, everyValue], async (db) => {
    await expectValues(db, { "'a' + 'b'": 'ab', "'' + ''": '', "'a' + 'b' + 'c'": 'abc', "PLUS('a', 'b')": 'ab' })
    await expectValuesOf(db, "Value WHERE label = 'low'", { "label + ': ' + text": 'low: a', 'letter + letter': 'aa' })
  })

  queryTest('is refused between types that it makes no sense for', [everyType], async (db) => {
    await expectRefusals(db, {
      "1 + 'a'": [1, /\+ does not stand between an integer and a string/],
      "'a' - 'b'": [1, /- does not stand between a string and a string/],
      'true + 1': [1, /a boolean and an integer/],
      '2024-02-29 + 1': [1, /a date and an integer/],
      '2024-02-29 + 2024-02-29': [1, /a date and a date/],
      '2024-02-29 - 08:00:00': [1, /a date and a time/],
      'INTERVAL{DAYS: 1} - 2024-02-29': [1, /an interval and a date/],
      'INTERVAL{DAYS: 1} * INTERVAL{DAYS: 1}': [1, /an interval and an interval/],
      '3-3-1-9 + 1': [1, /a reference and an integer/],
      'LIST{1} + 1': [1, /a list of integer and an integer/],
      "-'a'": [2, /- does not stand before a string/],
      '+true': [2, /before a boolean/],
      '1.5 % true': [1, /a real and a boolean/],
    })
  })
})
