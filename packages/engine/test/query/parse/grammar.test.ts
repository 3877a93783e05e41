/** docs/grammar.md and the parser are of one mind. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Lexer } from '../../../src/query/parse/lexer.ts'
import { parse } from '../../../src/query/parse/parse.ts'
import type { Token } from '../../../src/query/parse/token.ts'
import { runs } from '../../bytes/property-runs.ts'
import { derive, derives, type Item, readGrammar } from './ebnf.ts'

const grammar = readGrammar()

/** What the page tells in prose: that the parser refuses it. */
const exceptions = [
  /(\(|\bLET \S+ =) CREATE/i,
  /\( (SELECT|RETURN) [-+!~]/,
  /\( MATCH (WALK |TRAIL |ACYCLIC |SIMPLE )?(ANY|ALL) \(/,
]

function tokensOf(text: string): Token[] {
  const lexer = new Lexer(text)
  const tokens: Token[] = []
  for (let token = lexer.next(); token.kind !== 'end'; token = lexer.next()) tokens.push(token)
  return tokens
}

/** Undefined where it is one. */
function refusal(text: string): string | undefined {
  try {
    parse(text)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

const sentence = fc.infiniteStream(fc.nat(1_000_000)).map((numbers) => {
  const next = numbers[Symbol.iterator]()
  return derive(
    grammar,
    'script',
    5 + ((next.next().value as number) % 60),
    (below) => (next.next().value as number) % below,
  )
})

test('each rule that is named is there, and each is used', () => {
  const named = new Set<string>()
  const visit = (item: Item): void => {
    if (item.kind === 'rule') named.add(item.name)
    else if (item.kind === 'repeat') visit(item.item)
    else if (item.kind !== 'terminal') item.items.forEach(visit)
  }
  for (const item of grammar.values()) visit(item)
  const words = ['name', 'word', 'variable', 'integer', 'number', 'string', 'date', 'time', 'datetime', 'oid']
  expect([...named].filter((name) => !grammar.has(name)).sort()).toEqual(words.sort())
  expect([...grammar.keys()].filter((name) => !named.has(name))).toEqual(['script'])
})

test('what the grammar derives, the parser takes', () => {
  fc.assert(
    fc.property(sentence, (text) => {
      fc.pre(!exceptions.some((pattern) => pattern.test(text)))
      expect({ text, refusal: refusal(text) }).toEqual({ text, refusal: undefined })
    }),
    runs(300),
  )
})

test('what the parser takes, the grammar derives: with words left out, doubled and exchanged', () => {
  const change = fc.record({ at: fc.nat(1_000), how: fc.constantFrom('drop', 'double', 'swap') })
  fc.assert(
    fc.property(sentence, fc.array(change, { minLength: 1, maxLength: 2 }), (text, changes) => {
      const pieces = tokensOf(text).map(({ start, end }) => text.slice(start, end))
      for (const { at, how } of changes) {
        const i = at % Math.max(1, pieces.length)
        if (how === 'drop') pieces.splice(i, 1)
        else if (how === 'double') pieces.splice(i, 0, pieces[i] ?? '')
        else pieces.splice(i, 2, ...pieces.slice(i, i + 2).reverse())
      }
      const changed = pieces.join(' ')
      if (refusal(changed) === undefined) {
        expect({ changed, isDerived: derives(grammar, 'script', tokensOf(changed)) }).toEqual({
          changed,
          isDerived: true,
        })
      }
    }),
    runs(300),
  )
})

test('the examples of the documentation are derived', () => {
  const page = readFileSync(new URL('../../../../../docs/query-language.md', import.meta.url), 'utf8')
  const examples = [...page.matchAll(/^```do\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text)
  const taken = examples.filter((text) => refusal(text) === undefined)
  expect(taken.length).toBeGreaterThan(30)
  expect(taken.filter((text) => !derives(grammar, 'script', tokensOf(text)))).toEqual([])
})
