/** ABS to SQRT, IS_NAN and IS_INF (DO, section 4, Operators). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { everyType, everyValue } from './every-type.ts'
import { expectRefusals, expectValues, expectValuesOf } from './expect-expressions.ts'

const ofOneReal = ['ACOS', 'ASIN', 'ATAN', 'COS', 'SIN', 'TAN', 'EXP', 'LOG', 'SQRT']
const ofOneNumber = [...ofOneReal, 'ABS', 'SIGN', 'CEILING', 'FLOOR', 'ROUND', 'TRUNCATE', 'IS_NAN', 'IS_INF']

describe('math functions', () => {
  queryTest('of whole numbers and reals', [], async (db) => {
    await expectValues(db, {
      'ABS(-5)': 5,
      'ABS(5)': 5,
      'ABS(-2.5)': 2.5,
      'CAST(ABS(-9223372036854775808) AS String)': '9223372036854775808',
      'SIGN(-3)': -1,
      'SIGN(0)': 0,
      'SIGN(2.5)': 1,
      'SIGN(18446744073709551615)': 1,
      'CEILING(1.2)': 2,
      'CEILING(-1.2)': -1,
      'CEILING(-0.5)': 0,
      'CEILING(3)': 3,
      'FLOOR(1.8)': 1,
      'FLOOR(-1.2)': -2,
      'TRUNCATE(1.8)': 1,
      'TRUNCATE(-1.8)': -1,
      'ROUND(2.5)': 3,
      'ROUND(-2.5)': -3,
      'ROUND(2.4)': 2,
      'ROUND(1.005)': 1,
      'ROUND(2.34567, 2)': 2.35,
      'ROUND(-2.34567, 3)': -2.346,
      'ROUND(1250.0, -2)': 1300,
      'ROUND(1250, -2)': 1300,
      'ROUND(7)': 7,
      'ROUND(0.49999999999999994)': 0,
      'FLOOR(9007199254740993) = 9007199254740993': true,
      'ROUND(1e300)': 1e300,
      'ROUND(9007199254740991) = 9007199254740991': true,
      'ROUND(4503599627370497.0)': 4503599627370497,
      'ROUND(9007199254740993, -1) = 9007199254740990': true,
      'ROUND(5, -400)': 0,
      'ROUND(5.5, -400)': 0,
      'ROUND(-1499, -3)': -1000,
      'ROUND(5.5, 400)': 5.5,
      'ROUND(0.0, 400)': 0,
      'abs(-1)': 1,
    })
  })

  queryTest('of angles, powers and logarithms', [], async (db) => {
    await expectValues(db, {
      'PI()': Math.PI,
      'COS(0)': 1,
      'SIN(0)': 0,
      'SIN(PI() / 2)': 1,
      'TAN(0.5)': Math.tan(0.5),
      'ACOS(1)': 0,
      'ACOS(0.5)': Math.acos(0.5),
      'ASIN(0.5)': Math.asin(0.5),
      'ATAN(1)': Math.PI / 4,
      'ATAN2(1, -1)': Math.atan2(1, -1),
      'ATAN2(-1, 1)': -Math.PI / 4,
      'EXP(1)': Math.E,
      'EXP(0)': 1,
      'LOG(EXP(2))': 2,
      'LOG(10)': Math.LN10,
      'SQRT(16)': 4,
      'SQRT(2)': Math.SQRT2,
    })
  })

  queryTest('where there is no number give NaN, which shows as null and is not null', [], async (db) => {
    await expectValues(db, {
      'SQRT(-1)': null,
      'LOG(-1)': null,
      'ACOS(2)': null,
      'IS_NAN(SQRT(-1))': true,
      'IS_NAN(ACOS(2))': true,
      'IS_NAN(1.5)': false,
      'IS_NAN(1)': false,
      'IS_NAN(null)': null,
      'IS_NULL(SQRT(-1))': false,
      'SQRT(-1) = SQRT(-1)': false,
      'SQRT(-1) != SQRT(-1)': true,
      'SQRT(-1) < 1': false,
      'SQRT(-1) >= 1': false,
    })
  })

  queryTest('tell infinity from numbers', [], async (db) => {
    await expectValues(db, {
      'IS_INF(1.5)': false,
      'IS_INF(18446744073709551615)': false,
      'IS_INF(SQRT(-1))': false,
      'IS_INF(LOG(0))': true,
      'IS_INF(null)': null,
    })
  })

  queryTest('RAND lies from 0 to 1, and is drawn anew for each row', [everyType, everyValue], async (db) => {
    const rows = await db.rows('FROM Value RETURN RAND() AS r')
    expect(rows).toHaveLength(3)
    for (const { r } of rows) expect(r).toSatisfy((value: number) => value >= 0 && value < 1)
    expect(new Set(rows.map(({ r }) => r)).size).toBeGreaterThan(1)
  })

  queryTest('of null are null', [everyType, everyValue], async (db) => {
    for (const name of ofOneNumber) {
      await expectValues(db, { [`${name}(null)`]: null })
      await expectValuesOf(db, "Value WHERE label = 'none'", {
        [`${name}(whole)`]: null,
        [`${name}(big)`]: null,
        [`${name}(real)`]: null,
      })
    }
    await expectValues(db, { 'ATAN2(null, 1)': null, 'ATAN2(1, null)': null, 'ROUND(1.5, null)': null })
  })

  queryTest('of stored numbers of all kinds', [everyType, everyValue], async (db) => {
    for (const attribute of ['tiny', 'whole', 'big', 'natural', 'single', 'real']) {
      await expectValuesOf(db, "Value WHERE label = 'high'", {
        [`ABS(-${attribute})`]: 2,
        [`SIGN(${attribute})`]: 1,
        [`SQRT(${attribute} * ${attribute})`]: 2,
        [`CEILING(${attribute})`]: 2,
        [`ROUND(${attribute})`]: 2,
        [`EXP(${attribute} - 2)`]: 1,
        [`ROUND(${attribute} * 625, -2)`]: 1300,
      })
      expect(await db.rows(`FROM Value WHERE ABS(${attribute}) = 2 RETURN label`)).toEqual([{ label: 'high' }])
    }
  })

  queryTest('take numbers, as many as they say', [], async (db) => {
    for (const name of ofOneNumber) {
      await expectRefusals(db, {
        [`${name}('a')`]: [name.length + 2, new RegExp(`${name} takes a number, not a string`)],
        [`${name}(true)`]: [name.length + 2, /not a boolean/],
        [`${name}()`]: [1, new RegExp(`${name} takes .*operand.*not 0`)],
        [`${name}(1, 2, 3)`]: [1, /operand.*not 3/],
      })
    }
    await expectRefusals(db, {
      'PI(1)': [1, /PI takes 0 operands, not 1/],
      'RAND(1)': [1, /RAND takes 0 operands/],
      'ATAN2(1)': [1, /ATAN2 takes 2 operands, not 1/],
      'ROUND(1.5, 0.5)': [12, /ROUND takes an integer, not a real/],
      'SQURT(4)': [1, /there is no function SQURT.*SQRT/],
      '1 + ABS(2024-02-29)': [9, /ABS takes a number, not a date/],
    })
  })
})
