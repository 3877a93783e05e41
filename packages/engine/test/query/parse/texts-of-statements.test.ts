/** Texts of several statements: they are parsed one after the other. */
import { describe, expect, it } from 'vitest'
import { parse, statementsOf } from '../../../src/query/parse/parse.ts'

const tokensMax = 100

function kindsBefore(text: string): { readonly kinds: readonly string[]; readonly message: string | undefined } {
  const kinds: string[] = []
  try {
    for (const { kind } of statementsOf(text, tokensMax)) kinds.push(kind)
  } catch (error) {
    return { kinds, message: (error as Error).message }
  }
  return { kinds, message: undefined }
}

describe('a text of several statements', () => {
  it('may have semicolons anywhere between them', () => {
    expect(kindsBefore(';; SHOW 1;;; FROM A RETURN a;')).toEqual({ kinds: ['show', 'select'], message: undefined })
    expect(kindsBefore(';').message).toMatch(/^Line 1, column 2: the text ends here/)
  })

  it('is refused for the first error in it', () => {
    expect(kindsBefore("SHOW 1; SHOW; SHOW 'x")).toEqual({
      kinds: ['show'],
      message: "Line 1, column 13: ';' does not fit here; expected a value.",
    })
    expect(kindsBefore("SHOW 1; SHOW 'x")).toMatchObject({ kinds: ['show'], message: expect.stringContaining('end') })
  })

  it('does not end a statement within brackets', () => {
    expect(kindsBefore('IF TRUE THEN (SHOW 1; SHOW 2); SHOW 3').kinds).toEqual(['if', 'show'])
    expect(kindsBefore('SHOW (1; SHOW 2').message).toMatch(/^Line 1, column 8: ';' does not fit here/)
    expect(kindsBefore('SHOW 1); SHOW 2').message).toMatch(/^Line 1, column 7: '\)' does not fit here/)
  })

  it('has a limit on the tokens of each statement, with the semicolons before it', () => {
    const many = 'SHOW 1;'.repeat(tokensMax)
    expect(kindsBefore(many).kinds).toHaveLength(tokensMax)
    expect(kindsBefore(`${many}${';'.repeat(tokensMax + 1)}`)).toMatchObject({
      kinds: { length: tokensMax },
      message: expect.stringContaining('A statement has at most 100 words, values and symbols'),
    })
  })

  it('has a limit on the uses of names that WITH gives, for each statement', () => {
    const uses = (count: number): string =>
      `WITH r AS (FROM A RETURN a) FROM A WHERE ${Array(count).fill('a IN (FROM r RETURN a)').join(' OR ')} RETURN a`
    expect(parse(`${uses(60)}; ${uses(60)}`)).toHaveLength(2)
    expect(() => parse(uses(101))).toThrow('names of WITH are used more than 100 times')
  })
})
