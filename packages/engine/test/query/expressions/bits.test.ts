/** `& | ^ ~ << >>` on whole numbers (DO, section 4, Operators). */
import { describe } from 'vitest'
import { queryTest } from '../query-database.ts'
import { everyType, everyValue } from './every-type.ts'
import { expectRefusals, expectValues, expectValuesOf } from './expect-expressions.ts'

describe('bit operators', () => {
  queryTest('in symbols, words and calls', [], async (db) => {
    await expectValues(db, {
      '12 & 10': 8,
      '12 | 10': 14,
      '12 ^ 10': 6,
      '~12': -13,
      '1 << 4': 16,
      '16 >> 2': 4,
      '12 BIT_AND 10': 8,
      '12 BIT_OR 10': 14,
      '12 BIT_XOR 10': 6,
      'BIT_AND(12, 10)': 8,
      'BIT_OR(12, 10)': 14,
      'BIT_XOR(12, 10)': 6,
      'BIT_COMP(12)': -13,
      'bit_comp(-13)': 12,
    })
  })

  queryTest('in two’s complement, also beyond 32 and 53 bits', [], async (db) => {
    await expectValues(db, {
      '-1 & 255': 255,
      '-8 >> 1': -4,
      '~0': -1,
      '~-1': 0,
      '0xFF00FF00FF & 0xFFFF': 255 * 256 + 255 - 0xff00 + 0,
      '4294967296 | 1': 4294967297,
      '1 << 40': 1099511627776,
      '1 << 63 = 9223372036854775808': true,
      '0xFFFFFFFFFFFFFFFF & 0xFFFFFFFF': 4294967295,
      '0xFFFFFFFFFFFFFFFF >> 60': 15,
      '0xFFFFFFFFFFFFFFFF ^ 0xFFFFFFFFFFFFFFFE': 1,
      '1 >> 64': 0,
      '5 << 0': 5,
    })
  })

  queryTest('bind as the table of precedence says', [], async (db) => {
    await expectValues(db, {
      '1 | 2 ^ 3 & 1': 3,
      '(1 | 2) ^ 3': 0,
      '1 + 1 << 2': 8,
      '1 + (1 << 2)': 5,
      '1 << 2 < 5': true,
      '~1 + 1': -1,
      '6 & 3 | 8': 10,
    })
    // `=` binds more tightly than `&`, which then stands beside true.
    await expectRefusals(db, { '6 & 2 = 2': [1, /& does not stand between an integer and a boolean/] })
  })

  queryTest('of stored numbers', [everyType, everyValue], async (db) => {
    await expectValuesOf(db, "Value WHERE label = 'high'", {
      'whole & 3': 2,
      'big | 1': 3,
      'natural ^ tiny': 0,
      '~big': -3,
      'whole << 2': 8,
      'big >> 1': 1,
      'BIT_OR(whole, 4)': 6,
    })
  })

  queryTest('are refused on anything but whole numbers', [], async (db) => {
    await expectRefusals(db, {
      '1.5 & 1': [1, /& does not stand between a real and an integer/],
      'true | false': [1, /\| does not stand between a boolean and a boolean/],
      "1 << 'a'": [1, /<< does not stand between an integer and a string/],
      '~1.5': [2, /~ does not stand before a real/],
      'BIT_COMP(true)': [10, /~ does not stand before a boolean/],
      '1 >> 65': [1, /beyond/],
      '1 >> -1': [1, /beyond/],
    })
  })
})
