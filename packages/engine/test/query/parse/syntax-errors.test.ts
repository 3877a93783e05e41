/** Texts that are no DO: line, column, the piece of text, and what was expected (DO, section 1, Errors). */
import { describe, expect, it } from 'vitest'
import { AshlarError, errorCatalogue } from '../../../src/errors.ts'
import { parse } from '../../../src/query/parse/parse.ts'

interface Wanted {
  readonly at: readonly [line: number, column: number]
  readonly piece: string
  readonly expected: readonly string[]
}

function fails(text: string): AshlarError {
  try {
    parse(text)
  } catch (error) {
    if (error instanceof AshlarError) return error
    throw error
  }
  throw new Error(`No error: ${text}`)
}

/** `expected`: some of what the error says could have stood there. */
const refused: Readonly<Record<string, Wanted>> = {
  '': { at: [1, 1], piece: '', expected: ['FROM', 'MATCH', 'CREATE', 'UPDATE', 'DELETE', 'SHOW', 'LET'] },
  ' ;; ': { at: [1, 5], piece: '', expected: ['FROM'] },
  'GET Client': { at: [1, 1], piece: 'GET', expected: ['FROM', 'SELECT'] },
  '42': { at: [1, 1], piece: '42', expected: ['FROM'] },
  'FROM Client': { at: [1, 12], piece: '', expected: ['RETURN', 'WHERE', 'ORDER BY'] },
  'FROM Client WHERE age = 1': { at: [1, 26], piece: '', expected: ['RETURN', 'ORDER BY'] },
  'FROM Client\n  WHERE age = RETURN *': { at: [2, 23], piece: '', expected: ['a value'] },
  'FROM\n\n5 RETURN *': { at: [3, 1], piece: '5', expected: ['a class'] },
  'FROM Client WHERE (age = 1 RETURN *': { at: [1, 28], piece: 'RETURN', expected: ["')'"] },
  'FROM Client WHERE age = 1) RETURN *': { at: [1, 26], piece: ')', expected: ['RETURN'] },
  'FROM Client RETURN name AS': { at: [1, 27], piece: '', expected: ['a name'] },
  'FROM Client RETURN name AS 5': { at: [1, 28], piece: '5', expected: ['a name'] },
  'FROM Client RETURN name,': { at: [1, 25], piece: '', expected: ['a value'] },
  'FROM Client ORDER BY name ASC DESC RETURN *': { at: [1, 31], piece: 'DESC', expected: ['RETURN'] },
  'FROM Client ORDER BY name WHERE age = 1 RETURN *': { at: [1, 27], piece: 'WHERE', expected: [] },
  'FROM Client WHERE age = 1 WHERE age = 2 RETURN *': { at: [1, 27], piece: 'WHERE', expected: [] },
  'FROM Client TAKE 1 TAKE 2 RETURN *': { at: [1, 20], piece: 'TAKE', expected: [] },
  'FROM Client RETURN * SHOW 1': { at: [1, 22], piece: 'SHOW', expected: ["';'", 'the end of the text'] },
  'SHOW 1 +': { at: [1, 9], piece: '', expected: ['a value'] },
  'SHOW 1 + * 2': { at: [1, 10], piece: '*', expected: ['a value'] },
  'SHOW #': { at: [1, 6], piece: '#', expected: [] },
  'SHOW 😀': { at: [1, 6], piece: '😀', expected: [] },
  'SHOW $ 5': { at: [1, 6], piece: '$', expected: ['$name', '$$NOW'] },
  'SHOW $$LATER': { at: [1, 6], piece: '$$LATER', expected: ['$$NOW', '$$ID', '$$THIS_REFERENCE', '$$USER'] },
  'SHOW `a b`': { at: [1, 6], piece: '`a b`', expected: ['`'] },
  'SHOW `a': { at: [1, 6], piece: '`a', expected: ['`'] },
  'SHOW a[': { at: [1, 8], piece: '', expected: ['a value'] },
  'SHOW a[1': { at: [1, 9], piece: '', expected: ["']'"] },
  'SHOW LIST{1 2}': { at: [1, 13], piece: '2', expected: ["','", "'}'"] },
  'SHOW MAP{1}': { at: [1, 11], piece: '}', expected: ["':'"] },
  'SHOW INTERVAL{WEEKS: 1}': { at: [1, 15], piece: 'WEEKS', expected: ['DAYS', 'HOURS', 'MINUTES'] },
  'SHOW CAST(1, Integer)': { at: [1, 12], piece: ',', expected: ['AS'] },
  'SHOW UPPER(1': { at: [1, 13], piece: '', expected: ["')'"] },
  'CREATE Client': { at: [1, 14], piece: '', expected: ["'{'"] },
  "CREATE Client {name 'a'}": { at: [1, 21], piece: "'a'", expected: ["':'"] },
  'CREATE Client {name = 1}': { at: [1, 21], piece: '=', expected: ["':', as in {a: v}"] },
  'FROM @Client RETURN *': { at: [1, 6], piece: '@', expected: [] },
  "CREATE Client {name: 'a' age: 1}": { at: [1, 26], piece: 'age', expected: ["','", "'}'"] },
  "CREATE Client {5: 'a'}": { at: [1, 16], piece: '5', expected: ['an attribute'] },
  'CREATE INDEX x ON Client': { at: [1, 25], piece: '', expected: ["'('"] },
  'CREATE INDEX x Client (a)': { at: [1, 16], piece: 'Client', expected: ['ON'] },
  'UPDATE Client': { at: [1, 14], piece: '', expected: ['SET', 'CLEAR', 'ADD', 'REMOVE'] },
  'UPDATE Client SET name = 1': { at: [1, 24], piece: '=', expected: ['TO'] },
  'UPDATE Client ADD 1 list': { at: [1, 21], piece: 'list', expected: ['TO'] },
  'UPDATE Client ADD {1, 2: 3} TO list': { at: [1, 24], piece: ':', expected: ["','"] },
  'UPDATE Client REMOVE {1: 2} FROM map': { at: [1, 29], piece: 'FROM', expected: ['elements', 'KEYS {…}'] },
  DELETE: { at: [1, 7], piece: '', expected: ['a class'] },
  'DROP Client': { at: [1, 6], piece: 'Client', expected: ['INDEX'] },
  'UPSERT Client {name: 1}': { at: [1, 24], piece: '', expected: ['ON'] },
  'UPSERT Client {name: 1} ON name': { at: [1, 28], piece: 'name', expected: ["'('"] },
  'LOOKUP Client': { at: [1, 14], piece: '', expected: ['WHERE'] },
  'LET 5 = 1': { at: [1, 5], piece: '5', expected: ['a variable'] },
  'LET $a 1': { at: [1, 8], piece: '1', expected: ["'='"] },
  'FOR a IN $b => ()': { at: [1, 5], piece: 'a', expected: ['EACH'] },
  'FOR EACH a IN $b ()': { at: [1, 18], piece: '(', expected: ["'=>'"] },
  'FOR EACH a IN $b => SHOW 1': { at: [1, 21], piece: 'SHOW', expected: ["'('"] },
  'FOR EACH a IN $b => (SHOW 1': { at: [1, 28], piece: '', expected: ["','", "')'"] },
  'IF 1 = 1 (SHOW 1)': { at: [1, 10], piece: '(', expected: ['THEN'] },
  'USE Money FORMAT "x"': { at: [1, 5], piece: 'Money', expected: ['DATE', 'TIME', 'DATETIME'] },
  'USE Date FORMAT x': { at: [1, 17], piece: 'x', expected: ['a format, in quotes'] },
  'LET a = IMPORT CSV file': { at: [1, 20], piece: 'file', expected: ['the name of a file, in quotes'] },
  'LET a = IMPORT CSV "f" COMMIT EVERY x': { at: [1, 37], piece: 'x', expected: ['a number of rows'] },
  'MATCH a RETURN *': { at: [1, 7], piece: 'a', expected: ["'('"] },
  'MATCH (a RETURN *': { at: [1, 10], piece: 'RETURN', expected: ["')'"] },
  'MATCH (a)-(b) RETURN *': { at: [1, 11], piece: '(', expected: ["'-'"] },
  'MATCH (a)-[*x]->(b) RETURN *': { at: [1, 13], piece: 'x', expected: ["']'"] },
  'MATCH (a)-->(b)': { at: [1, 16], piece: '', expected: ['RETURN'] },
  'UPDATE SCHEMA { CREATE Client {} }': { at: [1, 17], piece: 'CREATE', expected: ['CREATE CLASS', 'DROP CLASS'] },
  'UPDATE SCHEMA { CREATE CLASS C {a} }': { at: [1, 34], piece: '}', expected: ["':'"] },
  'UPDATE SCHEMA { CREATE CLASS C {a: 5} }': { at: [1, 36], piece: '5', expected: ['a type'] },
  'UPDATE SCHEMA { ALTER CLASS C {PUT a} }': {
    at: [1, 32],
    piece: 'PUT',
    expected: ['ADD', 'RENAME', 'DROP', 'ALTER', 'SET'],
  },
  EXPLAIN: { at: [1, 8], piece: '', expected: ['FROM', 'MATCH'] },
}

describe('a text that is no DO', () => {
  it('is a fault of the client', () => {
    expect(errorCatalogue.QuerySyntaxError.kind).toBe('malformed')
  })

  for (const [text, { at, piece, expected }] of Object.entries(refused)) {
    it(`is refused with its place: ${JSON.stringify(text)}`, () => {
      const error = fails(text)
      const [line, column] = at
      expect(error.type).toBe('QuerySyntaxError')
      expect(error.extensions).toMatchObject({ line, column, text: error.extensions.text })
      expect(error.message).toMatch(new RegExp(`^Line ${line}, column ${column}: `))
      expect(error.extensions.text).toBe(piece === '' ? (error.extensions.text as string) : piece)
      if (expected.length === 0) return
      expect(error.extensions.expected).toEqual(expect.arrayContaining([...expected]))
      for (const word of expected) expect(error.message).toContain(word)
    })
  }

  it('that creates an object in another dialect is told how it is written', () => {
    const messages: Readonly<Record<string, string>> = {
      'CREATE @C {a = v}': 'CREATE C {a: v}',
      'CREATE @Shop.Order { number = 5, day = 2024-02-29 }': 'CREATE Shop.Order {number: 5}',
      'LET x = CREATE @C {a = $v}': 'CREATE C {a: v}',
      'create @ C': 'CREATE C {a: v}',
      'CREATE @': 'CREATE C {a: v}',
    }
    for (const [text, shown] of Object.entries(messages)) {
      const { message, extensions } = fails(text)
      expect(message).toContain(`'@' means nothing here: a new object is written ${shown}`)
      expect(extensions).toMatchObject({ line: 1, column: text.indexOf('@') + 1, text: '@' })
    }
    expect(fails('FROM @C RETURN *').message).not.toContain('CREATE')
  })

  it('with a letter beyond ASCII outside of quotes says what names consist of', () => {
    const { message, extensions } = fails('FROM Car WHERE größe = 1 RETURN *')
    expect(message).toMatch(/^Line 1, column 18: 'ö' means nothing here: names consist of the letters A to Z/)
    expect(extensions).toMatchObject({ line: 1, column: 18, text: 'ö' })
  })

  it('is told where WHERE stands, and not to write what it has written', () => {
    const late = fails('FROM Client ORDER BY name WHERE age = 1 RETURN *')
    expect(late.message).toBe('Line 1, column 27: WHERE stands before GROUP BY, ORDER BY, SKIP and TAKE.')
    expect(fails('FROM Client WHERE age = 1 WHERE age = 2 RETURN *').message).toMatch(/WHERE is specified twice/)
    expect(fails('FROM Client TAKE 1 5').extensions.expected).toEqual(['RETURN'])
  })

  it('is shown by a piece only where the piece is long', () => {
    const error = fails(`FROM Client c ${'x'.repeat(1_000)} RETURN *`)
    expect(error.extensions.text).toBe(`${'x'.repeat(60)}…`)
    expect(error.message.length).toBeLessThan(300)
  })
})
