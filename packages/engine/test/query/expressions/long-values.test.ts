/** Long values are worked through a piece at a time: to the same results, and with turns for others in between. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { StatementContext } from '../../../src/query/execute/statement-context.ts'
import {
  canSearchAtOnce,
  countInPieces,
  lowerInPieces,
  searchInPieces,
  textAtOnce,
  upperInPieces,
} from '../../../src/query/functions/long-texts.ts'
import { LongWork, type Pieces, Work } from '../../../src/query/functions/work.ts'
import { isOnPostgres } from '../../store/store-of-run.ts'
import { openQueryDatabase, queryTest } from '../query-database.ts'

function inPieces(pieces: Pieces): { readonly value: unknown; readonly steps: readonly number[] } {
  const steps: number[] = []
  for (;;) {
    const piece = pieces.next()
    if (piece.done === true) return { value: piece.value, steps }
    steps.push(piece.value)
  }
}

const pair = '\u{1f600}'
/** What is around the place where one piece ends and another begins. */
const joints = [
  `${pair}${pair}`,
  `a${pair}`,
  'straße',
  'ΑΣ',
  'ΑΣ Β',
  'ΑΣ..',
  'ΑΣ..Β',
  '..Σ',
  ' Σ ',
  'Σ\u0301Α',
  'İI',
  'ŉΐ',
]

describe('functions of long texts', () => {
  const texts = joints.flatMap((joint) => {
    return Array.from({ length: joint.length + 2 }, (_, i) => {
      return `${'b'.repeat(textAtOnce - i)}${joint}${'.'.repeat(i % 2 === 0 ? 3 : textAtOnce)}${joint}`
    })
  })

  it('come to the same as at once', () => {
    for (const text of texts) {
      expect(inPieces(upperInPieces(text)).value === text.toUpperCase()).toBe(true)
      expect(inPieces(lowerInPieces(text)).value === text.toLowerCase()).toBe(true)
      expect(inPieces(countInPieces(text)).value).toBe([...text].length)
    }
  })

  it('know a final sigma behind and before any number of characters that are ignored', () => {
    for (const around of ['A', ' ', '']) {
      const dots = '.'.repeat(3 * textAtOnce)
      const text = `${around}${dots}Σ${dots}Σ${dots}${around}`
      expect(inPieces(lowerInPieces(text)).value === text.toLowerCase()).toBe(true)
    }
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
      expect(canSearchAtOnce(text, part)).toBe(false)
      expect(inPieces(searchInPieces(text, part)).value).toBe(text.includes(part))
    }
  })

  it('search in time that is linear in the text, whatever the part', () => {
    const part = (characters: number): string => `${'a'.repeat(characters)}b${'a'.repeat(characters)}`
    const stepsFor = (text: string, wanted: string): number => {
      return inPieces(searchInPieces(text, wanted)).steps.reduce((sum, steps) => sum + steps, 0)
    }
    const text = 'a'.repeat(4 * 2 ** 20)
    expect(stepsFor(text, part(100_000))).toBeLessThan(text.length)
    const once = stepsFor(text, part(500))
    expect(stepsFor(text + text, part(500))).toBeLessThan(2.1 * once)
    // Each piece takes a few milliseconds at most.
    for (const characters of [2, 100, 1_000, 1_000_000]) {
      for (const steps of inPieces(searchInPieces(text, part(characters))).steps) expect(steps).toBeLessThan(200_000)
    }
  })
})

describe('long work', () => {
  it('has one result, however often and by whomever it is asked for', () => {
    function* pieces(): Pieces {
      yield 10
      yield 10
      return 'done'
    }
    const [work, other] = [new Work(15), new Work(15)]
    const job = new LongWork(pieces()).followedBy((value) => `${value as string}!`)
    expect(job.next(work)).toBeUndefined()
    expect(work.isDue).toBe(false)
    expect(job.next(other)).toBeUndefined()
    expect([work.isDue, other.isDue]).toEqual([false, false])
    expect(job.next(work)).toEqual({ value: 'done!' })
    expect(job.next(other)).toEqual({ value: 'done!' })
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
  afterEach(() => {
    vi.restoreAllMocks()
  })

  // Where each read is a trip, others have their turn during it.
  it.skipIf(isOnPostgres)('give others their turn by the bytes of the objects that expressions follow', async () => {
    const { db, close } = await openQueryDatabase([bigSchema])
    const objects = 8
    const big = 'x'.repeat(5 * 2 ** 20)
    await db.rows("LET last = (CREATE Big {n: 0, text: 'x'})")
    for (let n = 0; n < objects; n++) {
      const create = `CREATE Big {n: ${n + 1}, text: $big, next: (LOOKUP Big WHERE n = ${n})}`
      await db.rows(create, { big })
    }
    await db.rows('CREATE Big {n: 100, all: (FROM Big WHERE n > 0 ORDER BY n RETURN $$ID)}')
    const turns = vi.spyOn(StatementContext.prototype, 'turn')
    const numbers = Array.from({ length: objects }, (_, i) => i + 1)
    for (const [text, rows] of [
      ['FROM Big WHERE n = 100 RETURN all.n AS n', [{ n: numbers }]],
      ['FROM Big WHERE n = 100 RETURN SUM(all.n) AS n', [{ n: 36 }]],
      ['FROM Big WHERE n = 100 AND all ANY (n = 8) RETURN n', [{ n: 100 }]],
      ['FROM Big WHERE n = 100 RETURN all[next.n > 3].n AS n', [{ n: [5, 6, 7, 8] }]],
      ['FROM Big WHERE n > 1 AND n < 9 ORDER BY n RETURN next.n AS n', numbers.slice(0, -1).map((n) => ({ n }))],
      ['FROM Big WHERE n = 8 RETURN next.next.next.next.next.next.n AS n', [{ n: 2 }]],
    ] as const) {
      turns.mockClear()
      expect(await db.rows(text)).toEqual(rows)
      expect(turns.mock.calls.length, text).toBeGreaterThanOrEqual(objects / 2)
    }
    await close()
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
