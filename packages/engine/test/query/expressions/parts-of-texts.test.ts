/** STARTS_WITH, ENDS_WITH, TRIM, REPLACE, SPLIT and CONCAT, also of long texts; DATE_TRUNC, EPOCH and NOW. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { replaceYielding, splitYielding, trim } from '../../../src/query/functions/parts-of-texts.ts'
import type { StepwiseResult } from '../../../src/query/functions/work.ts'
import { runs } from '../../bytes/property-runs.ts'
import { queryTest } from '../query-database.ts'

function whole(pieces: StepwiseResult): unknown {
  for (;;) {
    const piece = pieces.next()
    if (piece.done === true) return piece.value
  }
}

const room = { text: () => undefined, element: () => undefined }
const text = fc.array(fc.constantFrom('a', 'b', 'ab', '\u{1F600}', ' '), { maxLength: 30 }).map((all) => all.join(''))
const part = fc.oneof(
  fc.array(fc.constantFrom('a', 'b', '\u{1F600}'), { minLength: 1, maxLength: 4 }).map((all) => all.join('')),
  fc.constant('ab'.repeat(200)),
)

describe('in pieces', () => {
  it('texts become what the engine makes of them at once', () => {
    fc.assert(
      fc.property(text, fc.nat(60), part, part, (some, times, of, other) => {
        const long = some.repeat(times) + of
        expect(whole(replaceYielding(long, of, other, room))).toBe(long.replaceAll(of, () => other))
        expect(whole(splitYielding(long, of, room))).toEqual(long.split(of))
        expect(trim(`  ${long}\n\t`, undefined)).toBe(long.trim())
      }),
      runs(300),
    )
  })

  it('long texts of the same letter are divided in time in proportion to them', () => {
    const long = 'a'.repeat(2_000_000)
    const hostile = `${'a'.repeat(100_000)}b`
    expect(whole(replaceYielding(long, hostile, 'x', room))).toBe(long)
    expect((whole(splitYielding(long, 'a'.repeat(1_000), room)) as string[]).length).toBe(2_001)
    expect(trim(long, 'a')).toBe('')
  })
})

queryTest('functions of texts and dates', [], async (db) => {
  const values: Readonly<Record<string, unknown>> = {
    "STARTS_WITH('database', 'data')": true,
    "STARTS_WITH('database', 'x')": false,
    "STARTS_WITH(null, 'x')": null,
    "ENDS_WITH('database', 'base')": true,
    "TRIM('  a b \\t\\n')": 'a b',
    "TRIM('xxaxbyx', 'xy')": 'axb',
    "TRIM('', 'x')": '',
    "TRIM('\u{1F600}a\u{1F600}', '\u{1F600}')": 'a',
    "REPLACE('aXbX', 'X', '--')": 'a--b--',
    "REPLACE('aaa', 'aa', 'b')": 'ba',
    "REPLACE('abc', '', 'x')": 'abc',
    "REPLACE('abc', 'b', null)": null,
    "SPLIT('a,b,,c', ',')": ['a', 'b', '', 'c'],
    "SPLIT('', ',')": [''],
    "SPLIT('abc', '')": ['abc'],
    "COUNT(SPLIT('a b c', ' '))": 3,
    "CONCAT('a', null, 1, 2.5, true, 2024-02-29)": 'a12.5true2024-02-29',
    'CONCAT(null)': '',
    "DATE_TRUNC('month', 2024-02-29)": '2024-02-01',
    "DATE_TRUNC('QUARTER', 2024-06-30)": '2024-04-01',
    "DATE_TRUNC('week', 2024-02-29)": '2024-02-26',
    "DATE_TRUNC('year', 2024-02-29 08:05:09)": '2024-01-01T00:00:00',
    "DATE_TRUNC('hour', 2024-02-29 08:05:09.25)": '2024-02-29T08:00:00',
    "DATE_TRUNC('day', 2024-02-29 23:30:00 -02:00)": '2024-02-29T00:00:00-02:00',
    "DATE_TRUNC('second', null)": null,
    'DATE_TRUNC($unit, 2024-02-29)': '2024-01-01',
    'EPOCH(1970-01-02)': 86400,
    'EPOCH(1970-01-01 00:00:01.5)': 1.5,
    'EPOCH(1970-01-01 02:00:00 +02:00)': 0,
    'NOW() = $$NOW': true,
  }
  for (const [expression, value] of Object.entries(values)) {
    expect({ expression, value: await db.value(expression, { unit: 'year' }) }).toEqual({ expression, value })
  }
  expect((await db.failure('SHOW DATE_TRUNC($unit, NOW())', { unit: 'moth' })).message).toContain("not 'moth'")
})

queryTest(
  'what REPLACE, SPLIT and CONCAT make is charged before it is made',
  [],
  async (db) => {
    const x = 'x'.repeat(10_000)
    const { message } = await db.failure('SHOW REPLACE($x, "x", $x)', { x })
    expect(message).toContain('textCharactersMax')
    expect(
      (await db.failure(`SHOW CONCAT(${Array.from({ length: 2_000 }, () => '$x').join(', ')})`, { x })).message,
    ).toContain('textCharactersMax')
    expect(
      (await db.failure('SHOW SPLIT(REPLACE($x, "x", "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"), "y")', { x })).message,
    ).toContain('statementBytesMax')
  },
  { limits: { statementBytesMax: 8 * 2 ** 20 } },
)

queryTest(
  'STARTS_WITH reads the range of an index',
  ['UPDATE SCHEMA { CREATE CLASS T {s: String} }; CREATE INDEX byS ON T (s)'],
  async (db) => {
    await db.rows('FOR EACH i IN $many => (CREATE T {s: CONCAT("n", $i)})', {
      many: Array.from({ length: 300 }, (_, i) => i),
    })
    let plan = await db.analyze("FROM T WHERE STARTS_WITH(s, 'n29') RETURN s")
    expect(plan.returned).toBe(11)
    while (plan.inputs?.[0] !== undefined) plan = plan.inputs[0]
    expect(plan).toMatchObject({ operator: 'indexScan', examined: 11 })
  },
)
