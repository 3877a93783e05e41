/** Long statements are parsed in pieces, and come to the same as in one. */
import { describe, expect, it } from 'vitest'
import type { SelectStatement, Statement } from '../../../src/query/language/ast.ts'
import { tokenize } from '../../../src/query/parse/lexer.ts'
import { parse, parseInPieces } from '../../../src/query/parse/parse.ts'

function many(count: number, write: (i: number) => string, between: string): string {
  return Array.from({ length: count }, (_, i) => write(i)).join(between)
}

function inPieces(text: string): { readonly statements: readonly Statement[]; readonly pieces: number } {
  const parsing = parseInPieces(text, 25_000)
  for (let pieces = 1; ; pieces++) {
    const piece = parsing.next()
    if (piece.done === true) return { statements: piece.value, pieces }
  }
}

/** Pieces of a text while its tokens are read. */
function piecesOfTokens(text: string): number {
  return [...tokenize(text, 25_000)].length
}

const within = many(80, (i) => `f${i % 7}(a + ${i}, b) > ${i} AND NOT (a = 1 OR b IN (1, 2, ${i}))`, ' OR ')

const texts: Readonly<Record<string, string>> = {
  'parts of OR': `FROM A WHERE ${many(2_000, (i) => `a > ${i}`, ' OR ')} RETURN a, b{c, d}`,
  'junctions within each other': `FROM A WHERE ${many(5, () => `(${within})`, ' AND ')} RETURN a`,
  columns: `FROM A WHERE a > 1 AND b < 2 RETURN ${many(2_000, (i) => `next{a, UPPER(b)} AS c${i}`, ', ')} ORDER BY a`,
  'fields of a shape': `FROM A RETURN things{${many(2_000, (i) => `next{a} AS c${i}`, ', ')} WHERE a > 1}, b{c} AS d`,
  'a list': `SHOW LIST{${many(5_000, (i) => `${i}`, ', ')}}`,
  'pairs of a map': `SHOW MAP{${many(3_000, (i) => `'k${i}': ${i}`, ', ')}}`,
  'branches of CASE': `FROM A RETURN CASE ${many(2_000, (i) => `WHEN a = ${i} THEN ${i}`, ' ')} ELSE 0 END AS x`,
  'statements in a body': `FOR EACH x IN (FROM A RETURN a) => (${many(1_000, (i) => `UPDATE A SET a TO ${i}`, ';\n')})`,
  'changes of the schema': `UPDATE SCHEMA {${many(700, (i) => `CREATE CLASS C${i} {a: Integer, b: String}`, ' ')}}`,
  'parts of UNION': many(90, (i) => `FROM A WHERE a IN (${many(60, (j) => `${i + j}`, ', ')}) RETURN a`, ' UNION '),
  'patterns of MATCH': `MATCH ${many(200, (i) => `(a${i}: A {b: ${i}})-[:next]->(b${i}: A)`, ', ')} RETURN a0.b`,
  'vertices of a pattern with a selection': `MATCH ANY SHORTEST ${many(150, (i) => `(a${i}: A {b: ${i}})-[:next*1..3]->(b${i}: A)`, ', ')} RETURN a0.b`,
  'pairs that are added': `UPDATE A SET a TO 1 ADD {${many(2_000, (i) => `'k${i}': ${i}`, ', ')}} TO m`,
  'elements that are added': `UPDATE A ADD {${many(4_000, (i) => `${i}`, ', ')}} TO m`,
  'arguments of calls': `FROM A WHERE ${many(900, (i) => `STARTS_WITH(a, '${i}', COALESCE(b, ${i}))`, ' AND ')} RETURN a`,
}

describe('a long statement', () => {
  for (const [what, text] of Object.entries(texts)) {
    it(`of many ${what} is parsed in pieces`, () => {
      const { statements, pieces } = inPieces(text)
      expect(pieces).toBeGreaterThan(piecesOfTokens(text) * 1.7)
      expect(statements).toEqual(parse(text))
    })
  }

  it('has its limits, counted over all of its pieces', () => {
    const text = `MATCH ${many(300, (i) => `(a${i}: A {b: ${i}})-[:next]->(b${i}: A)`, ', ')} RETURN a0.b`
    expect(() => inPieces(text)).toThrow('MATCH has more than 501 vertices')
  })

  it('has the same error, whichever piece it is in', () => {
    const wrong = `FROM A WHERE ${many(3_000, (i) => `a > ${i}`, ' OR ')} OR a RETURN`
    const message = (work: () => unknown): string => {
      try {
        return String(work())
      } catch (error) {
        return JSON.stringify(error)
      }
    }
    expect(message(() => inPieces(wrong))).toBe(message(() => parse(wrong)))
  })

  it('uses the one statement that WITH has named, in all of its pieces', () => {
    const text = `WITH r AS (FROM A RETURN a) FROM A WHERE ${many(60, (i) => `a IN (FROM r RETURN a) AND (${many(30, (j) => `b > ${i + j}`, ' OR ')})`, ' OR ')} RETURN a`
    const [statement] = inPieces(text).statements as [SelectStatement]
    const named = new Set<unknown>()
    const left: unknown[] = [statement]
    while (left.length > 0) {
      const node = left.pop()
      if (typeof node !== 'object' || node === null) continue
      const { kind, start } = node as { readonly kind?: unknown; readonly start?: unknown }
      if (kind === 'select' && start === text.indexOf('FROM A')) named.add(node)
      left.push(...Object.values(node))
    }
    expect(named.size).toBe(1)
    expect([statement]).toEqual(parse(text))
  })
})
