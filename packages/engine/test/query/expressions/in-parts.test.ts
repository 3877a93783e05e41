/** Long expressions are broken off and go on: with the same results, at no more than twice the work, and ended when asked. */
import { describe, expect, it } from 'vitest'
import type { Evaluate, EvaluationContext } from '../../../src/query/evaluate/evaluation-context.ts'
import { compileLoop, inParts, type Places } from '../../../src/query/evaluate/in-parts.ts'
import { turnDue, Work } from '../../../src/query/functions/work.ts'
import { openQueryDatabase, queryTest } from '../query-database.ts'
import { shopSchema } from '../shop.ts'

/** Evaluated as a row is: again whenever it was broken off. */
function evaluateInTurns(evaluate: Evaluate, work: Work): { readonly value: unknown; readonly turns: number } {
  const run = { work } as unknown as EvaluationContext
  for (let turns = 0; ; turns++) {
    try {
      const value = evaluate(run)
      work.endRow()
      return { value, turns }
    } catch (error) {
      if (error !== turnDue) throw error
      work.goOn()
    }
  }
}

describe('an expression in parts', () => {
  const numbers = Array.from({ length: 20 }, (_, i) => i)

  /** The sum over two nested loops, whose body is two long functions. */
  function nested(places: Places, count: () => void): Evaluate {
    let [outer, inner] = [0, 0]
    const long = (value: () => number): Evaluate =>
      inParts(places, ({ work }) => {
        count()
        work.spend(7)
        return value()
      })
    const loop = (body: () => Evaluate, fill: (element: number) => void): Evaluate =>
      compileLoop<number[], Evaluate>(places, body, (each) => ({
        start: () => ({ elements: numbers, state: [] }),
        step(run, values, element) {
          fill(element as number)
          values.push(each(run) as number)
          return false
        },
        end: (_run, values) => values.reduce((sum, value) => sum + value, 0),
      }))
    const body = (): Evaluate => {
      const [one, other] = [long(() => outer * 100), long(() => inner)]
      return (run) => (one(run) as number) + (other(run) as number)
    }
    const innerLoop = (): Evaluate => {
      return loop(body, (element) => {
        inner = element
      })
    }
    const first = long(() => 0)
    const whole = loop(innerLoop, (element) => {
      outer = element
    })
    return (run) => (first(run) as number) + (whole(run) as number)
  }

  const expected = 20 * 190 * 100 + 20 * 190

  for (const steps of [1, 5, 30, 100, 1_000, 1_000_000]) {
    it(`comes to the same with ${steps} steps at once`, () => {
      let calls = 0
      const evaluate = nested({ places: 0 }, () => calls++)
      for (let row = 0; row < 2; row++) {
        const { value, turns } = evaluateInTurns(evaluate, new Work(steps))
        expect(value).toBe(expected)
        if (steps === 1_000_000) expect(turns).toBe(0)
        else expect(turns).toBeGreaterThan(0)
      }
      const once = 1 + 20 * 20 * 2
      expect(calls).toBeGreaterThanOrEqual(2 * once)
      expect(calls).toBeLessThanOrEqual(4 * once)
    })
  }

  it('ends a loop where its result is known', () => {
    const seen: unknown[] = []
    const evaluate = compileLoop<undefined, undefined>(
      { places: 0 },
      () => undefined,
      () => ({
        start: () => ({ elements: numbers, state: undefined }),
        step(_run, _state, element) {
          seen.push(element)
          return element === 3
        },
        end: () => 'known',
      }),
    )
    expect(evaluateInTurns(evaluate, new Work(1)).value).toBe('known')
    expect(seen).toEqual([0, 1, 2, 3])
  })
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

  it('end where they are when the client goes', async () => {
    const { db, close } = await openQueryDatabase([shopSchema])
    const values = Array.from({ length: 100 }, (_, i) => `Address{city: 'city ${i}'}`).join()
    await db.rows(`CREATE Client {name: 'Ann', homes: LIST{${values}}}`)
    const controller = new AbortController()
    const text = `FROM Client WHERE homes ALL (city + $x != $x + city + $x) RETURN name`
    const asked = db.fd.query({ text, parameters: { x: parameters.x }, signal: controller.signal })
    setImmediate(() => controller.abort(new Error('the client is gone')))
    await expect(asked).rejects.toThrow('the client is gone')
    await close()
  })
})
