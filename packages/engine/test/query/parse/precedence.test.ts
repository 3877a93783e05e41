/** What binds what, and the symbol, word and call forms of operators (DO, section 4, Operators). */
import { describe, expect, it } from 'vitest'
import { writtenOut } from './written-out.ts'

function expectWritten(wanted: Readonly<Record<string, string>>): void {
  const found = Object.fromEntries(Object.keys(wanted).map((text) => [text, writtenOut(text)]))
  expect(found).toEqual(wanted)
}

describe('precedence', () => {
  it('goes down from paths to OR, each level below the one before', () => {
    expectWritten({
      '-a.b': '(- a.b)',
      '-a[0]': '(- a[0])',
      '!f(x)': '(NOT F(x))',
      '-a * b': '((- a) * b)',
      '~a % b': '((~ a) % b)',
      'a + b * c': '(a + (b * c))',
      'a - b / c': '(a - (b / c))',
      'a + b % c': '(a + (b % c))',
      'a << b + c': '(a << (b + c))',
      'a >> b - c': '(a >> (b - c))',
      'a < b << c': '(a < (b << c))',
      'a = b < c': '(a = (b < c))',
      'a != b IN c': '(a != (b IN c))',
      'a == b CONTAINS c': '(a = (b CONTAINS c))',
      'a & b = c': '(a & (b = c))',
      'a ^ b & c': '(a ^ (b & c))',
      'a | b ^ c': '(a | (b ^ c))',
      'NOT a | b': '(NOT (a | b))',
      'NOT a = b': '(NOT (a = b))',
      '!a = b': '((NOT a) = b)',
      'NOT a AND b': '((NOT a) AND b)',
      'a ^^ b && c': '(a XOR (b AND c))',
      'a || b ^^ c': '(a OR (b XOR c))',
      'a OR b AND c': '(a OR (b AND c))',
      'a AND NOT b = c OR d': '((a AND (NOT (b = c))) OR d)',
      'a <> b + 1': '(a != (b + 1))',
      'a = b IS NULL': '(a = IS_NULL(b))',
      'a + 1 IS NOT NULL AND b': '((NOT IS_NULL((a + 1))) AND b)',
      'a BETWEEN b + 1 AND c AND d': '((a BETWEEN (b + 1) BETWEEN c) AND d)',
      'NOT a NOT BETWEEN b AND c': '(NOT (NOT (a BETWEEN b BETWEEN c)))',
      'a LIKE b + c = d': '((a LIKE (b + c)) = d)',
      'a NOT ILIKE b OR c': '((NOT (a ILIKE b)) OR c)',
      'a IN (b, c + 1) = d': '((a IN b IN (c + 1)) = d)',
      'a NOT IN (b)': '(NOT (a IN b))',
      'a IN (b) + c': '(a IN (b + c))',
      'a NOT IN b': '(NOT (a IN b))',
    })
  })

  it('is the same within a level, from left to right', () => {
    expectWritten({
      'a - b - c': '((a - b) - c)',
      'a / b * c % d': '(((a / b) * c) % d)',
      'a << b >> c': '((a << b) >> c)',
      'a < b <= c': '((a < b) <= c)',
      'a = b != c': '((a = b) != c)',
      'a XOR b ^^ c': '((a XOR b) XOR c)',
      '- - a': '(- (- a))',
      'NOT NOT a': '(NOT (NOT a))',
    })
  })

  it('gives way to parentheses', () => {
    expectWritten({
      '(a + b) * c': '((a + b) * c)',
      'a AND (b OR c)': '(a AND (b OR c))',
      '(NOT a) = b': '((NOT a) = b)',
      'a - (b - c)': '(a - (b - c))',
      '((a))': 'a',
      '(a).b': 'a.b',
    })
  })

  it('joins long rows of AND and of OR into one operation', () => {
    expectWritten({
      'a AND b && c': '(a AND b AND c)',
      'a OR b || c AND d AND e': '(a OR b OR (c AND d AND e))',
      'a AND (b AND c)': '(a AND (b AND c))',
    })
  })
})

describe('operators', () => {
  it('have a symbol, a word and a call, in any case', () => {
    const forms: readonly (readonly [string, string, string])[] = [
      ['a && b', 'a and b', 'And(a, b)'],
      ['a || b', 'a OR b', 'OR(a, b)'],
      ['a ^^ b', 'a xor b', 'XOR(a, b)'],
      ['a + b', 'a PLUS b', 'plus(a, b)'],
      ['a - b', 'a MINUS b', 'MINUS(a, b)'],
      ['a * b', 'a MULTIPLY b', 'MULTIPLY(a, b)'],
      ['a / b', 'a DIVIDE b', 'DIVIDE(a, b)'],
      ['a % b', 'a modulo b', 'MODULO(a, b)'],
      ['a & b', 'a BIT_AND b', 'BIT_AND(a, b)'],
      ['a | b', 'a BIT_OR b', 'BIT_OR(a, b)'],
      ['a ^ b', 'a BIT_XOR b', 'BIT_XOR(a, b)'],
      ['!a', 'NOT a', 'NOT(a)'],
      ['~a', '~ a', 'BIT_COMP(a)'],
      ['a CONTAINS b', 'a contains b', 'CONTAINS(a, b)'],
      ['a IN b', 'a in b', 'IN(a, b)'],
      ['a ANY_EQUAL b', 'a any_equal b', 'ANY_EQUAL(a, b)'],
      ['a ALL_EQUAL b', 'a all_equal b', 'ALL_EQUAL(a, b)'],
      ['a ANY (b)', 'a any (b)', 'ANY(a, b)'],
      ['a ALL (b)', 'a all (b)', 'ALL(a, b)'],
    ]
    for (const [symbol, word, call] of forms) {
      expect(writtenOut(word), word).toBe(writtenOut(symbol))
      expect(writtenOut(call), call).toBe(writtenOut(symbol))
    }
    expect(writtenOut('AND(a, b, c)')).toBe('(a AND b AND c)')
    expect(writtenOut('a == b')).toBe(writtenOut('a = b'))
  })

  it('follow each other without blanks where no other reading is possible', () => {
    expectWritten({
      'a+b': '(a + b)',
      'a-1': '(a - 1)',
      'a - -1': '(a - -1)',
      '1-2': '(1 - 2)',
      '1-2-3': '((1 - 2) - 3)',
      '2024 - 02 - 29': '((2024 - 2) - 29)',
      '12/3/4': '((12 / 3) / 4)',
      'a=~b': '(a =~ b)',
      'a!~~b': '(a !~~ b)',
      'a<-1': '(a < -1)',
      'list[1:-1]': 'list[1:-1]',
      'list[:]': 'list[:]',
      'a.b[0].c': 'a.b[0].c',
      'Base::name': 'Base::name',
      'Space.Base::name': 'Space.Base::name',
      'other.Base::name': 'other.Base::name',
    })
  })
})
