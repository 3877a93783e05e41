/** Literals, comments and names as they are written (DO, section 2). */
import { describe, expect, it } from 'vitest'
import { AshlarError } from '../../../src/errors.ts'
import type { LiteralExpression, LiteralValue, ShowStatement } from '../../../src/query/language/ast.ts'
import { parse } from '../../../src/query/parse/parse.ts'
import { expectValues } from '../expressions/expect-expressions.ts'
import { queryTest } from '../query-database.ts'
import { writtenOut } from './written-out.ts'

function literal(text: string): LiteralValue {
  const [statement] = parse(`SHOW ${text}`)
  const { value } = statement as ShowStatement
  expect(value?.kind, text).toBe('literal')
  return (value as LiteralExpression).literal
}

function refusal(text: string): AshlarError {
  try {
    parse(`SHOW ${text}`)
  } catch (error) {
    if (error instanceof AshlarError) return error
    throw error
  }
  throw new Error(`No error: ${text}`)
}

describe('literals', () => {
  it('of numbers', () => {
    const numbers: Readonly<Record<string, LiteralValue>> = {
      '42': { type: 'integer', value: 42 },
      '0': { type: 'integer', value: 0 },
      '007': { type: 'integer', value: 7 },
      '-42': { type: 'integer', value: -42 },
      '0x1F': { type: 'integer', value: 31 },
      '0Xff': { type: 'integer', value: 255 },
      '9007199254740993': { type: 'integer', value: 9_007_199_254_740_993n },
      '-9223372036854775808': { type: 'integer', value: -9_223_372_036_854_775_808n },
      '18446744073709551615': { type: 'integer', value: 18_446_744_073_709_551_615n },
      '18446744073709551616': { type: 'real', value: 2 ** 64, digits: '18446744073709551616' },
      '-18446744073709551615': { type: 'real', value: -(2 ** 64), digits: '-18446744073709551615' },
      '-100000000000000000000000000000000000': {
        type: 'real',
        value: -1e35,
        digits: '-100000000000000000000000000000000000',
      },
      '1.5': { type: 'real', value: 1.5, digits: '1.5' },
      '-1.5': { type: 'real', value: -1.5, digits: '-1.5' },
      '2.5e-3': { type: 'real', value: 0.0025, digits: '2.5e-3' },
      '2E3': { type: 'real', value: 2000, digits: '2E3' },
      '1e+2': { type: 'real', value: 100, digits: '1e+2' },
    }
    for (const [text, wanted] of Object.entries(numbers)) expect(literal(text), text).toEqual(wanted)
  })

  it('of numbers that there are not', () => {
    expect(refusal('0x10000000000000000').message).toMatch(/beyond what a number can be/)
    expect(refusal(`1${'0'.repeat(400)}`).message).toMatch(/beyond what a number can be/)
    expect(refusal('1e999').message).toMatch(/beyond what a number can be/)
    expect(refusal('9'.repeat(100_000)).message).toMatch(/'?9{60}…'? is beyond what a number can be/)
    expect(refusal('12abc').message).toMatch(/'12abc' is neither a number nor a name/)
    expect(refusal('0xZZ').message).toMatch(/'0xZZ' is neither a number nor a name/)
  })

  queryTest('of texts, with their escapes', [], async (db) => {
    await expectValues(db, {
      "'text'": 'text',
      '"text"': 'text',
      "''": '',
      "'it\\'s'": "it's",
      '"say \\"hi\\""': 'say "hi"',
      "'\"'": '"',
      '"\'"': "'",
      "'a\\\\b'": 'a\\b',
      "'\\b\\n\\f\\t'": '\b\n\f\t',
      "'\\0'": '\0',
      "'\\101\\102'": 'AB',
      "'\\x41\\xe9'": 'Aé',
      "'two\nlines'": 'two\nlines',
      "'Grüße 😀'": 'Grüße 😀',
      "'// no comment /* at all */'": '// no comment /* at all */',
    })
  })

  it('of texts that do not end, and escapes that there are not', () => {
    expect(refusal("'abc").extensions).toMatchObject({ line: 1, column: 6 })
    expect(refusal("'abc").message).toMatch(/does not end/)
    expect(refusal('"abc\'').message).toMatch(/does not end/)
    expect(refusal("'a\\").message).toMatch(/'\\' is not an escape; expected \\0, /)
    expect(refusal("'a\\q'").message).toMatch(/\\q/)
    expect(refusal("'a\\xZZ'").message).toMatch(/\\x/)
  })

  queryTest('of dates, times and datetimes', [], async (db) => {
    await expectValues(db, {
      '2024-02-29': '2024-02-29',
      '2024/2/29': '2024-02-29',
      '2024-2-9': '2024-02-09',
      '08:05:09.25': '08:05:09.25',
      '3:11:22': '03:11:22',
      '2024-02-29 08:05:09.25': '2024-02-29T08:05:09.25',
      '2024-02-29T08:05:09': '2024-02-29T08:05:09',
      '2024/2/29 8:05:09Z': '2024-02-29T08:05:09Z',
      '2024-02-29 08:05:09 Z': '2024-02-29T08:05:09Z',
      '2024-02-29 08:05:09 +05:30': '2024-02-29T08:05:09+05:30',
      '2024-02-29 08:05:09 -08:00': '2024-02-29T08:05:09-08:00',
      '2024 - 02 - 29': 1993,
      '2024-02-29 + INTERVAL{DAYS: 1}': '2024-03-01',
    })
  })

  it('of dates and times that there are not', () => {
    expect(refusal('2023-02-29').message).toMatch(/2023-02-29 is not a date that there is/)
    expect(refusal('2024/13/01').message).toMatch(/2024\/13\/01 is not a date that there is/)
    expect(refusal('25:00:00').message).toMatch(/25:00:00 is not a time of day/)
    expect(refusal('2024-02-29 25:00:00').message).toMatch(/is not a date that there is/)
    expect(refusal('2024-02-29 08:00:00 +15:00').message).toMatch(/is not a date that there is/)
  })

  it('of OIDs', () => {
    expect(writtenOut('3-3-1-9')).toBe(writtenOut('3-3-1-9'))
    expect(literal('3-3-1-9').type).toBe('oid')
    expect(literal('0-0-0-0').type).toBe('oid')
    expect(refusal('1-2-3-70000').message).toMatch(/1-2-3-70000 is not an OID: four numbers up to 65535/)
    expect(writtenOut('3 - 3 - 1 - 9')).toBe('(((3 - 3) - 1) - 9)')
  })

  it('true, false and null in any case', () => {
    expect(['TRUE', 'true', 'False', 'NULL', 'null'].map((text) => literal(text).value)).toEqual([
      true,
      true,
      false,
      null,
      null,
    ])
  })
})

describe('blanks and comments', () => {
  it('stand anywhere between words', () => {
    expect(writtenOut('1 // one\n + /* two\nlines **/ 2')).toBe('(1 + 2)')
    expect(writtenOut('1/* a */+/**/2//')).toBe('(1 + 2)')
    expect(writtenOut('\t1\r\n+\u00a02')).toBe('(1 + 2)')
    expect(parse(';; /* nothing */ SHOW 1 ; // the end\n; SHOW 2;')).toHaveLength(2)
  })

  it('that do not end are an error', () => {
    const error = refusal('1 /* never')
    expect(error.message).toMatch(/a comment that begins here does not end; expected \*\//)
    expect(error.extensions).toMatchObject({ line: 1, column: 8 })
  })
})
