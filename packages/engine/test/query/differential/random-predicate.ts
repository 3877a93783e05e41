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
  readonly n: number | null
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
  term('n', (thing) => thing.n),
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
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
}

type Truth = Known<boolean>
const and = (one: Truth, other: Truth): Truth =>
  one === false || other === false ? false : one === null || other === null ? null : true
const not = (value: Truth): Truth => (value === null ? null : !value)

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
  const forms: readonly ((written: readonly string[]) => string)[] = [
    (written) => `IN LIST{${written.join(', ')}}`,
    (written) => `IN (${written.join(', ')})`,
    (written) => `IN (${[...written, 'null'].join(', ')})`,
    (written) => `IN LIST{${[...written, 'null'].join(', ')}}`,
    (written) => `NOT IN (${written.join(', ')})`,
    (written) => `NOT IN (${[...written, 'null'].join(', ')})`,
    (written) => `NOT IN LIST{${['null', ...written].join(', ')}}`,
  ]
  return fc
    .tuple(operand, fc.subarray([...values], { minLength: 1 }), fc.constantFrom(...forms))
    .map(([left, held, form]) => {
      const written = form(held.map(write))
      return term<boolean>(`${left.text} ${written}`, (thing) => {
        const value = left.evaluate(thing)
        if (value === null) return null
        const isFound = held.includes(value) || (written.includes('null') ? null : false)
        return written.startsWith('NOT') ? not(isFound) : isFound
      })
    })
}

function isNull(operand: fc.Arbitrary<Term<unknown>>): fc.Arbitrary<Term<boolean>> {
  return fc
    .tuple(operand, fc.constantFrom('IS_NULL(x)', 'x IS NULL', 'x IS NOT NULL', 'EXISTS(x)', 'NOT EXISTS(x)'))
    .map(([{ text, evaluate }, form]) => {
      const isOfNull = !['x IS NOT NULL', 'EXISTS(x)'].includes(form)
      return term(form.replace('x', text), (thing) => (evaluate(thing) === null) === isOfNull)
    })
}

function isBetween<T>(
  operand: fc.Arbitrary<Term<T>>,
  order: (one: T, other: T) => number,
): fc.Arbitrary<Term<boolean>> {
  return fc.tuple(operand, operand, operand, fc.boolean()).map(([value, least, most, isNegated]) =>
    term(`${value.text} ${isNegated ? 'NOT ' : ''}BETWEEN ${least.text} AND ${most.text}`, (thing) => {
      const [one, from, to] = [value.evaluate(thing), least.evaluate(thing), most.evaluate(thing)]
      const isAbove = one === null || from === null ? null : order(one, from) >= 0
      const isBelow = one === null || to === null ? null : order(one, to) <= 0
      const isWithin = and(isAbove, isBelow)
      return isNegated ? not(isWithin) : isWithin
    }),
  )
}

const patterns = [
  '%',
  '',
  'a',
  'a%',
  '%a',
  '%e%',
  '_',
  '_eta',
  'Z%a',
  `${longText}%`,
  `${longText}1_`,
  '\u{1F600}%',
  '\\\\%',
]

/** By a regular expression that is made of the pattern. */
function isLike(operand: fc.Arbitrary<Term<string>>): fc.Arbitrary<Term<boolean>> {
  const words = fc.constantFrom('LIKE', 'ILIKE', 'NOT LIKE', 'NOT ILIKE')
  return fc.tuple(operand, words, fc.constantFrom(...patterns)).map(([{ text, evaluate }, word, pattern]) => {
    const source = pattern.replaceAll('%', '[^]*').replaceAll('_', '[^]')
    const expression = new RegExp(`^${source}$`, word.endsWith('ILIKE') ? 'iu' : 'u')
    return term(`${text} ${word} ${quote(pattern.replaceAll('\\', '\\\\'))}`, (thing) => {
      const value = evaluate(thing)
      return value === null ? null : expression.test(value) !== word.startsWith('NOT')
    })
  })
}

/** At least so many elements of a list are equal to an attribute: at least none of them always. */
const isSome: fc.Arbitrary<Term<boolean>> = fc
  .tuple(
    fc.constantFrom('OF', 'SOME'),
    fc.nat(2),
    fc.array(fc.constantFrom(...numbers), { minLength: 1, maxLength: 3 }),
  )
  .map(([word, least, held]) =>
    term(`${word}_EQUAL(${least}, LIST{${held.join(', ')}}, i)`, ({ i }) => {
      if (i !== null || least === 0) return held.filter((one) => one === i).length >= least
      return held.length >= least ? null : false
    }),
  )

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
  { weight: 2, arbitrary: isBetween(number, byNumber) },
  { weight: 1, arbitrary: isBetween(textual, byText) },
  { weight: 1, arbitrary: isBetween(day, byText) },
  { weight: 3, arbitrary: isLike(textual) },
  { weight: 2, arbitrary: isSome },
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
