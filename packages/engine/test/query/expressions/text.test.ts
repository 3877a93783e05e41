/** CONTAINS, SUBSTRING, UPPER, LOWER and LENGTH (DO, section 4, Operators). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { everyType, everyValue } from './every-type.ts'
import { expectRefusals, expectValues, expectValuesOf } from './expect-expressions.ts'

const schema = 'UPDATE SCHEMA { CREATE CLASS Word {text: String, letter: Character, none: String} }'
const words = "CREATE Word {text: 'Grüße 😀', letter: 'ß', none: null}"

describe('text functions', () => {
  queryTest('CONTAINS looks for a part, and knows case', [schema, words], async (db) => {
    await expectValues(db, {
      "'database' CONTAINS 'tab'": true,
      "'database' contains 'TAB'": false,
      "CONTAINS('database', 'base')": true,
      "'a.c' CONTAINS '.'": true,
      "'abc' CONTAINS '.'": false,
      "'a' CONTAINS ''": true,
      "'' CONTAINS 'a'": false,
      "'a' + 'b' CONTAINS 'ab'": true,
      "'a' CONTAINS null": null,
      "null CONTAINS 'a'": null,
    })
    await expectValuesOf(db, 'Word', {
      "text CONTAINS 'üß'": true,
      'text CONTAINS letter': true,
      'letter CONTAINS text': false,
      "none CONTAINS 'a'": null,
      'text CONTAINS none': null,
    })
    expect(await db.rows("FROM Word WHERE text CONTAINS '😀' RETURN letter")).toEqual([{ letter: 'ß' }])
    expect(await db.rows("FROM Word WHERE NOT none CONTAINS '😀' RETURN letter")).toEqual([])
  })

  queryTest('SUBSTRING and SUBSTR count from 0, and characters', [schema, words], async (db) => {
    for (const name of ['SUBSTRING', 'SUBSTR']) {
      await expectValues(db, {
        [`${name}('database', 4)`]: 'base',
        [`${name}('database', 0, 4)`]: 'data',
        [`${name}('database', 4, 100)`]: 'base',
        [`${name}('database', 8)`]: '',
        [`${name}('database', 100, 2)`]: '',
        [`${name}('database', 2, 0)`]: '',
        [`${name}('a😀b', 1, 1)`]: '😀',
        [`${name}('a😀b', 2)`]: 'b',
        [`${name}(null, 1)`]: null,
        [`${name}('a', null)`]: null,
        [`${name}('a', 0, null)`]: null,
      })
    }
    await expectValuesOf(db, 'Word', {
      'SUBSTR(text, 6)': '😀',
      'SUBSTRING(text, 2, 2)': 'üß',
      'SUBSTR(none, 0)': null,
    })
  })

  queryTest('UPPER and LOWER', [schema, words], async (db) => {
    await expectValues(db, {
      "UPPER('äbc')": 'ÄBC',
      "LOWER('ÄBC')": 'äbc',
      "upper('a1-')": 'A1-',
      'UPPER(null)': null,
      'LOWER(null)': null,
    })
    await expectValuesOf(db, 'Word', { 'LOWER(text)': 'grüße 😀', 'UPPER(none)': null, 'LOWER(letter)': 'ß' })
    expect(await db.rows("FROM Word WHERE LOWER(text) = 'grüße 😀' RETURN letter")).toHaveLength(1)
  })

  queryTest('LENGTH counts characters', [schema, words], async (db) => {
    await expectValues(db, { "LENGTH('')": 0, "LENGTH('abc')": 3, "LENGTH('a😀b')": 3, 'LENGTH(null)': null })
    await expectValuesOf(db, 'Word', {
      'LENGTH(text)': 7,
      'LENGTH(letter)': 1,
      'LENGTH(none)': null,
      'length(text) * 2': 14,
    })
  })

  queryTest('take texts', [everyType, everyValue], async (db) => {
    await expectRefusals(db, {
      "1 CONTAINS 'a'": [1, /CONTAINS takes texts, not an integer/],
      "'a' CONTAINS true": [14, /CONTAINS takes texts, not a boolean/],
      'CONTAINS(LIST{1}, 1)': [10, /CONTAINS takes texts/],
      'UPPER(5)': [7, /UPPER takes a text, not an integer/],
      'LOWER(2024-02-29)': [7, /LOWER takes a text, not a date/],
      'LENGTH(5)': [8, /LENGTH takes a text.*not an integer/],
      "SUBSTR('abc')": [1, /SUBSTR takes 2 to 3 operands, not 1/],
      "SUBSTR('abc', 1.5)": [15, /SUBSTR takes an integer, not a real/],
      "SUBSTRING('abc', 'a')": [18, /SUBSTRING takes an integer, not a string/],
      "UPPER('a', 'b')": [1, /UPPER takes 1 operands?, not 2/],
      "TOUPPER('a')": [1, /there is no function TOUPPER/],
    })
    await expectRefusals(db, { 'UPPER(whole)': [7, /UPPER takes a text, not an integer/] }, 'FROM Value RETURN ')
  })
})
