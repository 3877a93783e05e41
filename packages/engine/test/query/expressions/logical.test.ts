/** AND, OR, XOR and NOT of true, false and null, in each form (DO, section 4, Operators). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { expectRefusals, expectValues } from './expect-expressions.ts'

type Truth = boolean | null
const truths: readonly Truth[] = [true, false, null]

const tables: Readonly<Record<string, { symbol: string; result(a: Truth, b: Truth): Truth }>> = {
  AND: {
    symbol: '&&',
    result: (a, b) => (a === false || b === false ? false : a === null || b === null ? null : true),
  },
  OR: { symbol: '||', result: (a, b) => (a === true || b === true ? true : a === null || b === null ? null : false) },
  XOR: { symbol: '^^', result: (a, b) => (a === null || b === null ? null : a !== b) },
}
const negation: Readonly<Record<string, Truth>> = { true: false, false: true, null: null }

const pairs = truths.flatMap((a) => truths.map((b) => [a, b] as const))
const schema = 'UPDATE SCHEMA { CREATE CLASS Pair {a: Boolean, b: Boolean} }'
const allPairs = pairs.map(([a, b]) => `CREATE Pair {a: ${a}, b: ${b}}`).join(';')

describe('logical operators', () => {
  for (const [word, { symbol, result }] of Object.entries(tables)) {
    const forms = (a: unknown, b: unknown): string[] => [
      `${a} ${symbol} ${b}`,
      `${a} ${word} ${b}`,
      `${a} ${word.toLowerCase()} ${b}`,
      `${word}(${a}, ${b})`,
    ]

    queryTest(`${word} of constants, parameters and attributes`, [schema, allPairs], async (db) => {
      for (const [a, b] of pairs) {
        const wanted = result(a, b)
        await expectValues(db, Object.fromEntries(forms(a, b).map((form) => [form, wanted])))
        await expectValues(db, Object.fromEntries(forms('$a', '$b').map((form) => [form, wanted])), { a, b })
      }
      for (const form of forms('a', 'b')) {
        const rows = await db.rows(`FROM Pair RETURN a, b, ${form} AS found`)
        expect(rows).toHaveLength(pairs.length)
        for (const { a, b, found } of rows) expect(found, `${form}: ${a}, ${b}`).toBe(result(a as Truth, b as Truth))
        const chosen = await db.rows(`FROM Pair WHERE ${form} RETURN a, b`)
        expect(chosen).toEqual(pairs.filter(([a, b]) => result(a, b) === true).map(([a, b]) => ({ a, b })))
        const others = await db.rows(`FROM Pair WHERE NOT (${form}) RETURN a, b`)
        expect(others).toEqual(pairs.filter(([a, b]) => result(a, b) === false).map(([a, b]) => ({ a, b })))
      }
    })
  }

  queryTest('NOT of constants, parameters and attributes', [schema, allPairs], async (db) => {
    for (const a of truths) {
      const wanted = negation[String(a)] ?? null
      await expectValues(db, { [`!${a}`]: wanted, [`NOT ${a}`]: wanted, [`not ${a}`]: wanted, [`NOT(${a})`]: wanted })
      await expectValues(db, { '!$a': wanted, 'NOT $a': wanted }, { a })
      expect(
        await db.rows(
          `FROM Pair WHERE b = true AND ${a === null ? 'IS_NULL(a)' : `a = ${a}`} RETURN NOT a AS found, !a AS other`,
        ),
      ).toEqual([{ found: wanted, other: wanted }])
    }
    expect(await db.rows('FROM Pair WHERE NOT a RETURN a, b')).toEqual(truths.map((b) => ({ a: false, b })))
  })

  queryTest('join more than two operands', [], async (db) => {
    await expectValues(db, {
      'true AND true AND null': null,
      'true AND null AND false': false,
      'false OR null OR true': true,
      'false || false || null': null,
      'AND(true, true, false)': false,
      'AND(true, true, true)': true,
      'OR(false, null, true)': true,
      'OR(false, false, false)': false,
      'true XOR true XOR true': true,
      'TRUE && FALSE': false,
    })
  })

  queryTest('bind as the table of precedence says', [], async (db) => {
    await expectValues(db, {
      'true OR true AND false': true,
      '(true OR true) AND false': false,
      'true OR true XOR true': true,
      'true XOR true AND false': true,
      'false AND false XOR true': true,
      'NOT false AND false': false,
      'NOT (false AND false)': true,
      "NOT 'a' = 'b'": true,
      'NOT 1 = 1 OR true': true,
      '!true || true': true,
      'NOT NOT true': true,
      '!!null': null,
      'true = false = false': true,
      '1 < 2 = true': true,
      '1 + 1 = 2 AND 2 * 2 = 4': true,
    })
  })

  queryTest('do not look at what no longer matters', [], async (db) => {
    await expectValues(db, {
      'false AND 9223372036854775807 * 9 > 0': false,
      'true OR 9223372036854775807 * 9 > 0': true,
    })
  })

  queryTest('take true and false only', [schema], async (db) => {
    await expectRefusals(db, {
      'true AND 1': [10, /AND takes true or false, not an integer/],
      '2024-02-29 OR false': [1, /OR takes true or false, not a date/],
      'XOR(true, 1.5)': [11, /XOR takes true or false, not a real/],
      'NOT 5': [5, /NOT takes true or false, not an integer/],
      "true AND 'perhaps'": [10, /perhaps/],
    })
    await expectRefusals(db, { '1 + 1': [1, /boolean|true or false|predicate/] }, 'FROM Pair WHERE', ' RETURN *')
  })
})
