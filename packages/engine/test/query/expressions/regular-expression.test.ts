/** `=~ !~ =~~ !~~`: found anywhere in the text, in linear time (DO, section 4, Operators). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { everyType, everyValue } from './every-type.ts'
import { expectRefusals, expectValues, expectValuesOf } from './expect-expressions.ts'

const schema = 'UPDATE SCHEMA { CREATE CLASS Word {text: String, pattern: String, letter: Character} }'
const words = `
  CREATE Word {text: 'Database', pattern: '^data', letter: 'D'};
  CREATE Word {text: 'schema', pattern: 'm.$', letter: 's'};
  CREATE Word {text: null, pattern: 'x', letter: 'x'};
  CREATE Word {text: 'none', pattern: null, letter: null}`

describe('regular expressions', () => {
  queryTest('are found anywhere in the text', [], async (db) => {
    await expectValues(db, {
      "'database' =~ 'tab'": true,
      "'database' =~ '^tab'": false,
      "'database' =~ '^d.*e$'": true,
      "'database' =~ 'TAB'": false,
      "'database' =~~ 'TAB'": true,
      "'database' !~ 'tab'": false,
      "'database' !~ 'TAB'": true,
      "'database' !~~ 'TAB'": false,
      "'database' !~~ 'x'": true,
      "'' =~ ''": true,
      "'a+b' =~ 'a\\\\+b'": true,
      "'2024' =~ '^\\\\d{4}$'": true,
      "'GRÜN' =~~ 'grün'": true,
      "'a😀b' =~ '^a.b$'": true,
      "'ab' =~ 'c|b'": true,
      "'x' =~ '[^a-w]'": true,
    })
  })

  queryTest('give null where the text or the pattern is null', [], async (db) => {
    for (const operator of ['=~', '!~', '=~~', '!~~']) {
      await expectValues(db, { [`null ${operator} 'a'`]: null, [`'a' ${operator} null`]: null })
    }
  })

  queryTest('choose objects, by patterns that are given or stored', [schema, words], async (db) => {
    const texts = async (predicate: string, parameters = {}): Promise<unknown[]> => {
      const rows = await db.rows(`FROM Word WHERE ${predicate} RETURN text`, parameters)
      return rows.map(({ text }) => text)
    }
    expect(await texts("text =~ '^.a'")).toEqual(['Database'])
    expect(await texts("text !~ '^.a'")).toEqual(['schema', 'none'])
    expect(await texts("text =~~ '^[DS]'")).toEqual(['Database', 'schema'])
    expect(await texts("text !~~ '^[DS]'")).toEqual(['none'])
    expect(await texts('text =~ $pattern', { pattern: 'e' })).toEqual(['Database', 'schema', 'none'])
    expect(await texts('text =~ pattern')).toEqual(['schema'])
    expect(await texts('text =~~ pattern')).toEqual(['Database', 'schema'])
    expect(await texts('text !~ pattern')).toEqual(['Database'])
    expect(await texts("letter =~ '[a-z]' AND text =~ letter")).toEqual(['schema'])
    await expectValuesOf(db, "Word WHERE text = 'none'", { 'text =~ pattern': null, 'text !~ pattern': null })
  })

  queryTest('that would make a backtracking engine try for ages end at once', [schema], async (db) => {
    // Backtracking would need longer than the universe has, and the test would never end.
    const text = `${'a'.repeat(5_000)}!`
    await expectValues(
      db,
      {
        "$text =~ '^(a+)+$'": false,
        "$text =~ '(a|a)*b'": false,
        "$text =~ '^(a|aa)+$'": false,
        "$text !~~ '(.*)*x'": true,
      },
      { text },
    )
  })

  queryTest('that are none are refused, and the error points at them', [schema, words], async (db) => {
    await expectRefusals(db, {
      "'a' =~ '('": [8, /not a regular expression/],
      "'a' =~ '[a'": [8, /not a regular expression/],
      "'a' !~ '*'": [8, /not a regular expression/],
      "'a' =~~ 'a{2,1}'": [9, /not a regular expression/],
      // What cannot be matched in linear time is no part of the dialect.
      "'aa' =~ '(a)\\\\1'": [9, /not a regular expression/],
      "'a' !~~ '(?=a)a'": [9, /not a regular expression/],
      [`'a' =~ '${'a'.repeat(1_001)}'`]: [8, /at most 1000 characters/],
    })
    await expectRefusals(db, { "text =~ '('": [9, /not a regular expression/] }, 'FROM Word WHERE ', ' RETURN *')
  })

  queryTest('take texts', [everyType, everyValue], async (db) => {
    await expectRefusals(db, {
      "1 =~ 'a'": [1, /=~ takes texts, not an integer/],
      "'a' =~ 1": [8, /=~ takes texts, not an integer/],
      "'a' !~~ true": [9, /!~~ takes texts, not a boolean/],
      "2024-02-29 !~ 'a'": [1, /!~ takes texts, not a date/],
    })
    await expectRefusals(
      db,
      { "whole =~~ 'a'": [1, /=~~ takes texts, not an integer/] },
      'FROM Value WHERE ',
      ' RETURN *',
    )
  })
})
