/** LIKE and ILIKE: the whole text, `%`, `_` and `\`, in time linear in the text. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { foldCase } from '../../../src/query/functions/fold-case.ts'
import { LikePattern } from '../../../src/query/functions/like-pattern.ts'
import { runs } from '../../bytes/property-runs.ts'
import { queryTest } from '../query-database.ts'

function isLike(text: string, pattern: string, isIgnoringCase = false): boolean {
  const like = LikePattern.parse(pattern, isIgnoringCase)
  if (typeof like === 'string') throw new Error(like)
  const pieces = like.test(text)
  for (;;) {
    const piece = pieces.next()
    if (piece.done === true) return piece.value as boolean
  }
}

/** Each character of the pattern tried against each place of the text. */
function model(text: readonly string[], pattern: readonly string[]): boolean {
  const [first, ...rest] = pattern
  if (first === undefined) return text.length === 0
  if (first === '%') return model(text, rest) || (text.length > 0 && model(text.slice(1), pattern))
  if (text.length === 0) return false
  if (first === '\\') return text[0] === rest[0] && model(text.slice(1), rest.slice(1))
  return (first === '_' || first === text[0]) && model(text.slice(1), rest)
}

const letters = ['a', 'b', '\u{1F600}', 'é']
const piece = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...letters) },
  { weight: 1, arbitrary: fc.constantFrom('_', '%', '\\%', '\\_', '\\\\', '\\a') },
)

describe('a pattern', () => {
  it('fits the texts that a model of it fits', () => {
    const text = fc.array(fc.constantFrom(...letters, '%', '_', '\\'), { maxLength: 12 })
    fc.assert(
      fc.property(text, fc.array(piece, { maxLength: 8 }), (characters, pieces) => {
        const pattern = pieces.join('')
        expect(isLike(characters.join(''), pattern)).toBe(model(characters, [...pattern]))
      }),
      runs(2_000),
    )
  })

  it('of more than 32 characters between two %, with _ among them, is found where it is', () => {
    const part = `${'ab'.repeat(30)}c`
    const pattern = `%${part.replace('bab', '___')}%`
    expect(isLike(`${'ab'.repeat(500)}c!`, pattern)).toBe(true)
    expect(isLike('ab'.repeat(500), pattern)).toBe(false)
  })

  it('is looked for in a long text in pieces, of which none grows with the pattern', () => {
    const text = 'a'.repeat(1_000_000)
    const like = LikePattern.parse(`%${'a'.repeat(400)}_${'a'.repeat(400)}b%`, false) as LikePattern
    const pieces = like.test(text)
    let count = 0
    let end = pieces.next()
    for (; end.done !== true; end = pieces.next()) count++
    expect(end.value).toBe(false)
    expect(count).toBeGreaterThan(200)
  })
})

describe('simple case folding', () => {
  it('makes those equal that a regular expression takes for equal', () => {
    for (let codePoint = 0; codePoint < 0x1e944; codePoint++) {
      if (codePoint >= 0xd800 && codePoint < 0xe000) continue
      const character = String.fromCodePoint(codePoint)
      for (const other of [character.toLowerCase(), character.toUpperCase()]) {
        if (other === character || [...other].length !== 1) continue
        const isSame = new RegExp(`^${other}$`, 'iu').test(character)
        const isFoldedSame = foldCase(codePoint) === foldCase(other.codePointAt(0) as number)
        expect({ character, other, isFoldedSame }).toEqual({ character, other, isFoldedSame: isSame })
      }
    }
  })
})

queryTest('LIKE in statements', [], async (db) => {
  const values: Readonly<Record<string, unknown>> = {
    "'database' LIKE 'data%'": true,
    "'database' LIKE 'Data%'": false,
    "'database' ILIKE 'Data_ASE'": true,
    "'database' NOT LIKE '%x%'": true,
    "'a%b' LIKE 'a\\\\%b'": true,
    "'axb' LIKE 'a\\\\%b'": false,
    "'\u{1F600}' LIKE '_'": true,
    "'\u212A' ILIKE 'k'": true,
    "'ı' ILIKE 'I'": false,
    "null LIKE 'a'": null,
    "'a' LIKE null": null,
    "'a\nb' LIKE 'a%b'": true,
    '$p LIKE $q': true,
  }
  for (const [text, value] of Object.entries(values)) {
    expect({ text, value: await db.value(text, { p: 'abc', q: '_b_' }) }).toEqual({ text, value })
  }
})

const names = ['', 'ab', 'abc', 'abd', 'ac', 'b', 'ab\u{10FFFF}', 'ab\uD7FF', 'ab\uE000', 'Ab', 'ab%', null]

queryTest(
  'LIKE with a beginning reads the range of an index',
  ['UPDATE SCHEMA { CREATE CLASS T {s: String, n: Integer} }; CREATE INDEX byS ON T (s)'],
  async (db) => {
    await db.rows('FOR EACH s IN $names => (CREATE T {s: $s}); FOR EACH i IN $many => (CREATE T {s: "z"})', {
      names,
      many: Array.from({ length: 300 }, (_, i) => i),
    })
    const found = async (where: string, parameters = {}): Promise<unknown[]> => {
      return (await db.rows(`FROM T WHERE ${where} ORDER BY s RETURN s`, parameters)).map(({ s }) => s)
    }
    const ab = ['ab', 'ab%', 'abc', 'abd', 'ab\uD7FF', 'ab\uE000', 'ab\u{10FFFF}']
    expect(await found("s LIKE 'ab%'")).toEqual(ab)
    expect(await found('s LIKE $p', { p: 'ab%' })).toEqual(ab)
    expect(await found("s LIKE 'ab\\\\%'")).toEqual(['ab%'])
    expect(await found("s LIKE 'ab\u{10FFFF}%'")).toEqual(['ab\u{10FFFF}'])
    expect(await found("s LIKE 'ab\uD7FF%'")).toEqual(['ab\uD7FF'])
    expect(await found("s LIKE 'a%d'")).toEqual(['abd'])
    expect(await found('s LIKE $p', { p: null })).toEqual([])
    const plan = JSON.stringify(await db.analyze("FROM T WHERE s LIKE 'ab%' RETURN s"))
    expect(plan).toContain('indexScan')
    expect(plan).toContain('"examined":7')
    expect(plan).toContain('"conditions":["s LIKE \'ab%\'"]')
  },
)
