/** `= == != < <= > >=` between every pair of types (DO, section 4, Operators). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { everyType, everyValue } from './every-type.ts'
import { expectRefusals, expectValues, expectValuesOf } from './expect-expressions.ts'

/** Types that are compared with each other, by the attributes that have them. */
const comparable: Readonly<Record<string, readonly string[]>> = {
  boolean: ['flag'],
  number: ['tiny', 'whole', 'big', 'natural', 'single', 'real', 'exact'],
  text: ['letter', 'text'],
  guid: ['guid'],
  moment: ['day', 'moment', 'zoned'],
  time: ['clock'],
  interval: ['span'],
  bytes: ['data'],
  reference: ['other'],
}
const attributes = Object.entries(comparable).flatMap(([group, names]) => names.map((name) => ({ group, name })))
const equality = ['=', '==', '!=']
const order = ['<', '<=', '>', '>=']
const operators = [...equality, ...order]

describe('relational operators', () => {
  queryTest(
    'stand between values of every pair of types that have a common order',
    [everyType, everyValue],
    async (db) => {
      for (const one of attributes) {
        for (const other of attributes.filter(({ group }) => group === one.group)) {
          const tests = operators.map((operator, i) => `${one.name} ${operator} ${other.name} AS t${i}`)
          const [none] = await db.rows(`FROM Value WHERE label = 'none' RETURN ${tests.join(', ')}`)
          expect(none, `${one.name} and ${other.name}, both null`).toEqual(
            Object.fromEntries(
              operators.map((_, i) => [`t${i}`, one.group === 'reference' ? i < 2 || i === 4 || i === 6 : null]),
            ),
          )
        }
      }
    },
  )

  queryTest('are refused between types that have nothing in common', [everyType, everyValue], async (db) => {
    for (const one of attributes) {
      for (const other of attributes.filter(({ group }) => group !== one.group)) {
        for (const operator of operators) {
          const error = await db.failure(`FROM Value WHERE ${one.name} ${operator} ${other.name} RETURN *`)
          expect(error).toMatchObject({
            type: 'QueryError',
            kind: 'unprocessable',
            extensions: { line: 1, column: 18 },
          })
          expect(error.message).toContain(`${operator === '==' ? '=' : operator} does not compare`)
        }
      }
    }
  })

  queryTest('order what is lower before what is higher', [everyType, everyValue], async (db) => {
    const lowest: Readonly<Record<string, string>> = {
      flag: 'false',
      letter: "'a'",
      tiny: '1',
      whole: '1',
      big: '1',
      natural: '1',
      single: '1.0',
      real: '1.0',
      guid: "'00000000-0000-4000-8000-00000000000a'",
      text: "'a'",
      day: '2024-02-28',
      clock: '08:05:09.25',
      moment: '2024-02-28 08:05:09.25',
      zoned: '2024-02-28 08:05:09.25 +05:30',
      span: 'INTERVAL{DAYS: 1}',
      data: "BYTES('AP8=')",
    }
    const results = (sign: number): boolean[] => [
      sign === 0,
      sign === 0,
      sign !== 0,
      sign < 0,
      sign <= 0,
      sign > 0,
      sign >= 0,
    ]
    for (const [name, literal] of Object.entries(lowest)) {
      for (const [label, sign] of [
        ['low', 0],
        ['high', 1],
      ] as const) {
        const wanted = results(sign)
        const opposite = results(-sign)
        await expectValuesOf(db, `Value WHERE label = '${label}'`, {
          ...Object.fromEntries(operators.map((operator, i) => [`${name} ${operator} ${literal}`, wanted[i]])),
          ...Object.fromEntries(operators.map((operator, i) => [`${literal} ${operator} ${name}`, opposite[i]])),
        })
      }
      for (const operator of operators) {
        const found = await db.rows(`FROM Value WHERE ${name} ${operator} ${literal} ORDER BY $$ID RETURN label`)
        const labels = ['low', 'high'].filter((_, i) => results(i)[operators.indexOf(operator)])
        expect(
          found.map(({ label }) => label),
          `${name} ${operator} ${literal}`,
        ).toEqual(labels)
      }
    }
  })

  queryTest('mix numeric types exactly', [], async (db) => {
    await expectValues(db, {
      '1 = 1.0': true,
      '1 == 1.0': true,
      '1 != 1.5': true,
      '1 < 1.5': true,
      '2 > 1.5': true,
      '9007199254740993 = 9007199254740992': false,
      '9007199254740993 > 9007199254740992': true,
      '9007199254740993 = 9007199254740992.0': false,
      '9007199254740993 > 9007199254740992.0': true,
      '9007199254740992 = 9007199254740992.0': true,
      '18446744073709551615 > 9223372036854775807': true,
      '-9223372036854775808 < -9223372036854775807': true,
      '0.1 + 0.2 = 0.3': false,
      '0 = -0.0': true,
      '0x1F = 31': true,
      '2.5e-3 = 0.0025': true,
    })
  })

  queryTest(
    'compare integers of 64 bits with the digits that they have, and reals of 32 bits as such',
    [
      everyType,
      "CREATE Every.Value {label: 'edge', big: 9007199254740993, natural: 18446744073709551615, single: 0.1, real: 0.1}",
    ],
    async (db) => {
      await expectValuesOf(db, 'Value', {
        'big = 9007199254740993': true,
        'big = 9007199254740992': false,
        'big > 9007199254740992': true,
        'big = 9007199254740992.0': false,
        'big < natural': true,
        'natural = 18446744073709551615': true,
        'natural > big + 1': true,
        'single = 0.1': true,
        '0.1 = single': true,
        'single = real': false,
        'real = 0.1': true,
        'single IN LIST{0.1, 0.2}': true,
      })
      expect(await db.rows('FROM Value WHERE natural = 18446744073709551615 RETURN label')).toEqual([{ label: 'edge' }])
      expect(await db.rows('FROM Value WHERE big = 9007199254740992 RETURN label')).toEqual([])
    },
  )

  queryTest('give null for a null operand, which does not qualify', [everyType, everyValue], async (db) => {
    for (const operator of operators) {
      await expectValues(db, {
        [`null ${operator} 1`]: null,
        [`'a' ${operator} null`]: null,
        [`null ${operator} null`]: null,
      })
      await expectValuesOf(db, "Value WHERE label = 'none'", {
        [`whole ${operator} 1`]: null,
        [`1 ${operator} whole`]: null,
      })
      expect(await db.rows(`FROM Value WHERE whole ${operator} null RETURN label`)).toEqual([])
    }
    expect(await db.rows("FROM Value WHERE label = 'none' AND text != 'a' RETURN label")).toEqual([])
  })

  queryTest('compare texts by code point, and case', [], async (db) => {
    await expectValues(db, {
      "'a' = 'A'": false,
      "'Z' < 'a'": true,
      "'' < 'a'": true,
      "'ab' < 'abc'": true,
      "'\uffff' < '😀'": true,
      "'😀' > '\ue000'": true,
      "'ä' > 'z'": true,
    })
  })

  queryTest('compare dates, datetimes and those with an offset as moments', [], async (db) => {
    await expectValues(db, {
      '2024-02-29 = 2024/2/29': true,
      '2024-02-29 = 2024-02-29 00:00:00': true,
      '2024-02-29 < 2024-02-29 00:00:01': true,
      '2024-02-29 05:30:00 +05:30 = 2024-02-29': true,
      '2024-02-29 12:00:00Z = 2024-02-29 12:00:00': true,
      '2024-02-29 12:00:00 +01:00 = 2024-02-29 11:00:00Z': true,
      '2024-02-29 12:00:00 +01:00 < 2024-02-29 12:00:00Z': true,
      '08:05:09.25 = 8:05:09.2500': true,
      '23:59:59 > 3:11:22': true,
      'INTERVAL{HOURS: 24} = INTERVAL{DAYS: 1}': true,
      'INTERVAL{DAYS: -1} < INTERVAL{}': true,
    })
  })

  queryTest('compare references for what they refer to', [everyType, everyValue], async (db) => {
    await expectValuesOf(db, "Value WHERE label = 'high'", {
      'other = other': true,
      'other != other': false,
      'other = $$ID': false,
      'other < $$ID': true,
      "other = (LOOKUP Value WHERE label = 'low')": true,
      'other = 0-0-0-0': false,
    })
    await expectValuesOf(db, "Value WHERE label = 'low'", { 'other = 0-0-0-0': true, 'other = null': null })
    await expectValues(db, { '3-3-1-9 = 3-3-1-9': true, '3-3-1-9 < 3-3-1-10': true, '3-3-1-9 != 3-3-2-9': true })
  })

  queryTest('read a text as the value that is meant', [everyType, everyValue], async (db) => {
    await expectValuesOf(
      db,
      "Value WHERE label = 'low'",
      {
        "day = '2024-02-28'": true,
        "clock = '08:05:09.25'": true,
        "moment < '2024-02-28 08:05:10'": true,
        "whole = '1'": true,
        "flag = 'false'": true,
        "span = 'P1D'": true,
        "guid = '00000000-0000-4000-8000-00000000000A'": true,
        'day = $day': true,
      },
      { day: '2024-02-28' },
    )
    await expectRefusals(
      db,
      {
        "day = 'tomorrow'": [7, /tomorrow/],
        "whole = 'one'": [9, /one/],
        "other = 'here'": [9, /here/],
      },
      'FROM Value WHERE',
      'RETURN *',
    )
  })

  queryTest('are refused between constants of types that have nothing in common', [], async (db) => {
    await expectRefusals(db, {
      '1 = true': [1, /= does not compare an integer with a boolean/],
      '2024-02-29 < 08:00:00': [1, /< does not compare a date with a time/],
      'INTERVAL{DAYS: 1} > 1': [1, /> does not compare an interval with an integer/],
      '1 + (2 = false)': [5, /does not compare/],
      'LIST{1} < LIST{2}': [1, /< does not compare/],
    })
  })
})
