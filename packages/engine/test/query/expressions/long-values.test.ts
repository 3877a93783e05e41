/** Long values: functions of texts, searches in linear time, and what takes part in expressions. */
import { describe, expect, it } from 'vitest'
import {
  canSearchInOneStep,
  characterCount,
  indexBehind,
  searchYielding,
} from '../../../src/query/functions/long-texts.ts'
import type { StepwiseResult } from '../../../src/query/functions/work.ts'
import { queryTest } from '../query-database.ts'

function inPieces(pieces: StepwiseResult): { readonly value: unknown; readonly steps: readonly number[] } {
  const steps: number[] = []
  for (;;) {
    const piece = pieces.next()
    if (piece.done === true) return { value: piece.value, steps }
    steps.push(piece.value)
  }
}

const pair = '\u{1f600}'

describe('functions of long texts', () => {
  it('count characters, of which some have two code units', () => {
    const text = `${'b'.repeat(70_000)}${pair}${pair}\ud83d`
    expect(characterCount(text)).toBe([...text].length)
    expect(indexBehind(text, 70_001, 0)).toBe(70_002)
    expect(indexBehind(text, 1, 70_002)).toBe(70_004)
    expect(indexBehind(text, Number.POSITIVE_INFINITY, 5)).toBe(text.length)
  })

  const searches: readonly (readonly [text: string, part: string])[] = [
    ['ab'.repeat(100_000), 'ba'.repeat(20_000)],
    ['a'.repeat(200_000), `${'a'.repeat(1_000)}b${'a'.repeat(1_000)}`],
    [`${'a'.repeat(200_000)}b${'a'.repeat(1_000)}`, `${'a'.repeat(1_000)}b${'a'.repeat(1_000)}`],
    [`${'ab'.repeat(100_000)}b${'a'.repeat(200)}`, `abb${'a'.repeat(200)}`],
    [`${'ab'.repeat(100_000)}b${'a'.repeat(199)}`, `abb${'a'.repeat(200)}`],
    [`${'a'.repeat(8_191)}${'xy'.repeat(100)}${'a'.repeat(100_000)}`, 'xy'.repeat(100)],
  ]

  it('find a part as at once, wherever it is', () => {
    for (const [text, part] of searches) {
      expect(canSearchInOneStep(text, part)).toBe(false)
      expect(inPieces(searchYielding(text, part)).value).toBe(text.includes(part))
    }
  })

  it('search in time that is linear in the text, whatever the part', () => {
    const part = (characters: number): string => `${'a'.repeat(characters)}b${'a'.repeat(characters)}`
    const stepsFor = (text: string, wanted: string): number => {
      return inPieces(searchYielding(text, wanted)).steps.reduce((sum, steps) => sum + steps, 0)
    }
    const text = 'a'.repeat(4 * 2 ** 20)
    expect(stepsFor(text, part(100_000))).toBeLessThan(text.length)
    const once = stepsFor(text, part(500))
    expect(stepsFor(text + text, part(500))).toBeLessThan(2.1 * once)
    // Each piece takes a few milliseconds at most.
    for (const characters of [2, 100, 1_000, 1_000_000]) {
      for (const steps of inPieces(searchYielding(text, part(characters))).steps) expect(steps).toBeLessThan(200_000)
    }
  })
})

const bigSchema = `UPDATE SCHEMA {
  CREATE CLASS Big {
    n: Integer,
    text: String,
    next: Reference{Referenced: Big},
    all: List{Element: Reference{Referenced: Big}}
  }
}`

describe('statements', () => {
  queryTest('read what the references of long objects lead to', [bigSchema], async (db) => {
    const objects = 4
    const big = 'x'.repeat(2 ** 20)
    await db.rows("LET last = (CREATE Big {n: 0, text: 'x'})")
    for (let n = 0; n < objects; n++) {
      const create = `CREATE Big {n: ${n + 1}, text: $big, next: (LOOKUP Big WHERE n = ${n})}`
      await db.rows(create, { big })
    }
    await db.rows('CREATE Big {n: 100, all: (FROM Big WHERE n > 0 ORDER BY n RETURN $$ID)}')
    for (const [text, rows] of [
      ['FROM Big WHERE n = 100 RETURN all.n AS n', [{ n: [1, 2, 3, 4] }]],
      ['FROM Big WHERE n = 100 RETURN SUM(all.n) AS n', [{ n: 10 }]],
      ['FROM Big WHERE n = 100 AND all ANY (n = 4) RETURN n', [{ n: 100 }]],
      ['FROM Big WHERE n = 100 RETURN all[next.n > 1].n AS n', [{ n: [3, 4] }]],
      ['FROM Big WHERE n = 4 RETURN next.next.n AS n', [{ n: 2 }]],
    ] as const)
      expect([text, await db.rows(text)]).toEqual([text, rows])
  })

  queryTest('find values in long lists, as in short ones', [bigSchema], async (db) => {
    await db.rows('CREATE Big {n: 1}; CREATE Big {n: 7000}; CREATE Big {n: -1}; CREATE Big {n: 3}')
    const x = Array.from({ length: 9_000 }, (_, i) => i + 2)
    const found = 'FROM Big WHERE n IN $x ORDER BY n RETURN n'
    expect(await db.rows(found, { x })).toEqual([{ n: 3 }, { n: 7_000 }])
    expect(await db.rows(found, { x: [...x, 'text'].slice(0, -1) })).toEqual([{ n: 3 }, { n: 7_000 }])
    const texts = x.map((n) => `t${n}`)
    expect(await db.rows("SHOW LIST{'t7000' IN $texts, 't1' IN $texts}", { texts })).toEqual([[true, false]])
    await db.rows('CREATE INDEX byN ON Big (n)')
    expect(await db.rows(found, { x: [...x, ...x.slice(0, 100), null] })).toEqual([{ n: 3 }, { n: 7_000 }])
  })

  queryTest('take long parameters as they are', [], async (db) => {
    const x = Array.from({ length: 3_000 }, (_, i) => ({ a: i, b: [`${i}`, null] }))
    expect(await db.rows('SHOW $x', { x })).toEqual([x])
    const wide = Object.fromEntries(x.map(({ a, b }) => [`f${a}`, b]))
    expect(await db.rows('SHOW $wide', { wide })).toEqual([wide])
    expect((await db.failure('SHOW $x', { x: [...x, 1] })).message).toContain('the elements of a list are of one type')
  })

  queryTest('compare long texts by their code points', [], async (db) => {
    const same = 'x'.repeat(20_000)
    for (const [one, other] of [
      ['a', 'b'],
      ['', 'a'],
      [pair, '\uffee'],
      ['\uffee', pair],
      [`${pair}a`, `${pair}b`],
    ] as const) {
      const parameters = { one: `${same}${one}${same}`, other: `${same}${other}${same}` }
      const isLess = Buffer.compare(Buffer.from(parameters.one), Buffer.from(parameters.other)) < 0
      const compared = 'SHOW LIST{$one < $other, $other < $one, $one = $other, $one = $one}'
      expect(await db.rows(compared, parameters)).toEqual([[isLess, !isLess, false, true]])
    }
  })
})
