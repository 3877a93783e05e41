/** Random predicates over things and places: as text of DO, and as a function over plain objects, written apart. */
import fc from 'fast-check'

export interface Place {
  readonly code: number | null
  readonly name: string | null
}

export interface Thing {
  readonly key: number
  readonly i: number | null
  readonly r: number | null
  readonly s: string | null
  readonly b: boolean | null
  readonly d: string | null
  readonly zip: number | null
  readonly place: Place | null
  readonly tags: readonly string[]
  readonly isSpecial: boolean
}

type Known<T> = T | null

/** A term of DO and what it means. `level`: how tightly it binds, for the parentheses around it. */
export interface Term<T> {
  readonly text: string
  evaluate(thing: Thing): Known<T>
}

const longText = 'the same long beginning of text '
export const texts = ['', 'a', 'b', 'Zeta', 'zeta', 'é', '\u{1F600}', `${longText}1`, `${longText}2`, `${longText}10`]
export const days = ['2024-01-31', '2024-02-29', '2023-12-31', '1999-01-01']
export const numbers = [-5, -1, 0, 1, 2, 3, 7, 100]

const term = <T>(text: string, evaluate: (thing: Thing) => Known<T>): Term<T> => ({ text, evaluate })
const constants = <T>(values: readonly T[], write: (value: T) => string): fc.Arbitrary<Term<T>> =>
  fc.constantFrom(...values).map((value) => term(write(value), () => value))

const quote = (value: string): string => `'${value}'`

const numericAttribute = fc.constantFrom<Term<number>>(
  term('i', (thing) => thing.i),
  term('r', (thing) => thing.r),
  term('where.zip', (thing) => thing.zip),
  term('place.code', (thing) => thing.place?.code ?? null),
)
const number: fc.Arbitrary<Term<number>> = fc.oneof(
  { weight: 4, arbitrary: numericAttribute },
  { weight: 4, arbitrary: constants(numbers, String) },
  { weight: 1, arbitrary: constants([0.5, 2.5], String) },
  { weight: 1, arbitrary: fc.constant(term('COUNT(tags)', (thing) => thing.tags.length)) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(numericAttribute, fc.constantFrom('+', '-', '*'), fc.constantFrom(0, 1, 2, 3))
      .map(([left, operator, right]) =>
        term(`${left.text} ${operator} ${right}`, (thing) => {
          const value = left.evaluate(thing)
          if (value === null) return null
          return operator === '+' ? value + right : operator === '-' ? value - right : value * right
        }),
      ),
  },
)
const textual: fc.Arbitrary<Term<string>> = fc.oneof(
  fc.constantFrom<Term<string>>(
    term('s', (thing) => thing.s),
    term('place.name', (thing) => thing.place?.name ?? null),
  ),
  constants(texts, quote),
)
const day: fc.Arbitrary<Term<string>> = fc.oneof(
  fc.constant(term<string>('d', (thing) => thing.d)),
  constants(days, (value) => value),
)

const relations: Readonly<Record<string, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '==': (order) => order === 0,
  '!=': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
}

function comparison<T>(
  operand: fc.Arbitrary<Term<T>>,
  order: (one: T, other: T) => number,
): fc.Arbitrary<Term<boolean>> {
  return fc.tuple(operand, fc.constantFrom(...Object.keys(relations)), operand).map(([left, relation, right]) =>
    term(`${left.text} ${relation} ${right.text}`, (thing) => {
      const [one, other] = [left.evaluate(thing), right.evaluate(thing)]
      if (one === null || other === null) return null
      return relations[relation]?.(order(one, other)) ?? null
    }),
  )
}

const byNumber = (one: number, other: number): number => one - other

/** By code point, which UTF-16 units are not. */
export function byText(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

function isIn<T>(operand: fc.Arbitrary<Term<T>>, values: readonly T[], write: (value: T) => string) {
  return fc.tuple(operand, fc.subarray([...values], { minLength: 1 })).map(([left, held]) =>
    term<boolean>(`${left.text} IN LIST{${held.map(write).join(', ')}}`, (thing) => {
      const value = left.evaluate(thing)
      return value === null ? null : held.includes(value)
    }),
  )
}

function isNull(operand: fc.Arbitrary<Term<unknown>>): fc.Arbitrary<Term<boolean>> {
  return operand.map(({ text, evaluate }) => term(`IS_NULL(${text})`, (thing) => evaluate(thing) === null))
}

const attribute: fc.Arbitrary<Term<unknown>> = fc.constantFrom<Term<unknown>>(
  term('i', (thing) => thing.i),
  term('s', (thing) => thing.s),
  term('d', (thing) => thing.d),
  term('b', (thing) => thing.b),
  term('place', (thing) => thing.place),
  term('place.code', (thing) => thing.place?.code ?? null),
)

const simple: fc.Arbitrary<Term<boolean>> = fc.oneof(
  { weight: 6, arbitrary: comparison(number, byNumber) },
  { weight: 4, arbitrary: comparison(textual, byText) },
  { weight: 2, arbitrary: comparison(day, byText) },
  { weight: 1, arbitrary: fc.constant(term<boolean>('b', (thing) => thing.b)) },
  { weight: 1, arbitrary: isNull(attribute) },
  { weight: 2, arbitrary: isIn(numericAttribute, numbers, String) },
  { weight: 1, arbitrary: isIn(textual, texts, quote) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(...texts)
      .map((tag) => term<boolean>(`tags ANY_EQUAL '${tag}'`, (thing) => thing.tags.includes(tag))),
  },
  {
    weight: 1,
    arbitrary: textual.map(({ text, evaluate }) =>
      term<boolean>(`${text} CONTAINS 'e'`, (thing) => evaluate(thing)?.includes('e') ?? null),
    ),
  },
)

type Truth = Known<boolean>
const and = (one: Truth, other: Truth): Truth =>
  one === false || other === false ? false : one === null || other === null ? null : true
const not = (value: Truth): Truth => (value === null ? null : !value)

export const predicate: fc.Arbitrary<Term<boolean>> = fc.letrec<{ any: Term<boolean> }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'predicate' },
    simple,
    fc.tuple(tie('any'), fc.constantFrom('AND', '&&', 'OR', '||', 'XOR'), tie('any')).map(([left, word, right]) =>
      term(`(${left.text}) ${word} (${right.text})`, (thing) => {
        const [one, other] = [left.evaluate(thing), right.evaluate(thing)]
        if (word === 'XOR') return one === null || other === null ? null : one !== other
        return word === 'AND' || word === '&&' ? and(one, other) : not(and(not(one), not(other)))
      }),
    ),
    tie('any').map(({ text, evaluate }) => term(`NOT (${text})`, (thing) => not(evaluate(thing)))),
  ),
})).any
