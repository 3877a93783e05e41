/** Long expressions: their results, and what ends them, since a row is evaluated without yielding. */
import { describe, expect, it } from 'vitest'
import { compileLoop } from '../../../src/query/evaluate/compile-loop.ts'
import type { EvaluationContext } from '../../../src/query/evaluate/evaluation-context.ts'
import { Work } from '../../../src/query/functions/work.ts'
import { queryTest } from '../query-database.ts'
import { shopSchema } from '../shop.ts'

const numbers = Array.from({ length: 20_000 }, (_, i) => i)

function evaluationWith(check: () => void): EvaluationContext {
  return { work: new Work(check) } as unknown as EvaluationContext
}

/** The number of the element at which the loop ends. */
function lastOf(isDecided: (element: unknown) => boolean, evaluation: EvaluationContext): unknown {
  const evaluate = compileLoop<{ last: unknown }>({
    start: () => ({ elements: numbers, state: { last: undefined } }),
    step(_evaluation, state, element) {
      state.last = element
      return isDecided(element)
    },
    end: (_evaluation, { last }) => last,
  })
  return evaluate(evaluation)
}

describe('a loop over the elements of a list', () => {
  it('ends where its result is known', () => {
    const evaluation = evaluationWith(() => expect.fail('three elements take no time'))
    expect(lastOf((element) => element === 3, evaluation)).toBe(3)
    expect(
      lastOf(
        () => false,
        evaluationWith(() => undefined),
      ),
    ).toBe(19_999)
  })

  it('ends with what the check of the limits throws, within the row', () => {
    let checks = 0
    const check = (): void => {
      if (++checks === 2) throw new Error('the time is over')
    }
    expect(() => lastOf(() => false, evaluationWith(check))).toThrow('the time is over')
  })
})

it('work in pieces counts the steps of each, and has their result', () => {
  let checks = 0
  function* pieces(): Generator<number | undefined, string> {
    yield 10
    yield undefined
    yield 99_991
    yield 100_000
    return 'done'
  }
  expect(new Work(() => checks++).run(pieces())).toBe('done')
  expect(checks).toBe(2)
})

describe('long expressions of statements', () => {
  const parameters = {
    x: 'x'.repeat(200_000),
  }

  queryTest('give the same rows', [shopSchema], async (db) => {
    const made = 'LET h = LIST{Address{city: "a"}, Address{city: "b"}, Address{city: "c"}};'.replaceAll('"', "'")
    await db.rows(`${made} CREATE Client {name: 'Ann', homes: $h}; CREATE Client {name: 'Bob', homes: LIST{}}`)
    const given = { x: parameters.x }
    const long = "FROM Client WHERE homes ANY (city + $x + $x = 'c' + $x + $x) RETURN name"
    expect(await db.rows(long, given)).toEqual([{ name: 'Ann' }])
    const all = 'FROM Client WHERE homes ALL (city + $x != $x + $x) ORDER BY LENGTH(LOWER($x) + name) RETURN name'
    expect(await db.rows(all, given)).toEqual([{ name: 'Ann' }, { name: 'Bob' }])
    const lengths = 'FROM Client ORDER BY name RETURN LENGTH(name + LOWER($x)) AS n, UPPER($x) + name = $x AS is'
    const row = { n: 200_003, is: false }
    expect(await db.rows(lengths, given)).toEqual([row, row])
    expect(await db.rows('FROM Client GROUP BY LENGTH($x + name) RETURN COUNT() AS n', given)).toEqual([{ n: 2 }])
  })

  queryTest('give large values as they are', [], async (db) => {
    const list = Array.from({ length: 30_000 }, (_, i) => `element ${i} "\u{1f600}"`)
    expect(await db.rows('SHOW $list', { list })).toEqual([list])
    const text = `${'a'.repeat(65_535)}\u{1f600}\n${'é"'.repeat(100_000)}\u{1f600}`
    expect(await db.rows('SHOW $text', { text })).toEqual([text])
    const record = { text, list, inner: { list, none: null } }
    expect(await db.rows('SHOW LIST{$record, $record}', { record })).toEqual([[record, record]])
  })
})
