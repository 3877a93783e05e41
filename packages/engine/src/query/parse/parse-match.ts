/** Parser of MATCH and its patterns of vertices and edges (docs/query-language.md, Graphs). */
import type {
  EdgePattern,
  Expression,
  MatchStatement,
  OptionalMatch,
  PathMode,
  PathSelection,
  Pattern,
  QualifiedName,
  VertexPattern,
} from '../language/ast.ts'
import { syntaxError } from '../language/query-error.ts'
import { adviceInMatch } from './advice.ts'
import { conditionOnEdge, hintText } from './hints.ts'
import { nothingReturned, parseClauses, parseLateClauses, parseReturned, parseWhere } from './parse-clauses.ts'
import { parseExpression } from './parse-expression.ts'
import type { TokenCursor } from './token-cursor.ts'

export function parseMatch(cursor: TokenCursor, start: number): MatchStatement {
  const mayLackReturn = cursor.takeMayLackReturn()
  let vertices = 0
  const parsePatterns = (): Pattern[] => {
    // The first pattern's selection, before the mode of all patterns.
    const firstSelection = takeSelection(cursor)
    const mode = takeMode(cursor)
    let selection = firstSelection
    return cursor.list(() => {
      const pattern = parsePattern(cursor, mode, selection)
      selection = undefined
      vertices += pattern.vertices.length
      cursor.checkVertices(vertices)
      return pattern
    })
  }
  const patterns = parsePatterns()
  const where = parseWhere(cursor)
  const optional: OptionalMatch[] = []
  while (cursor.isWord('OPTIONAL')) {
    const { start: begin } = cursor.next()
    cursor.expectWord('MATCH')
    if (optional.length === optionalMax) throw cursor.mistaken(`there are at most ${optionalMax} OPTIONAL MATCH`)
    const found = { patterns: parsePatterns(), where: parseWhere(cursor) }
    optional.push({ ...found, ...cursor.spanFrom(begin) })
  }
  const clauses = parseClauses(cursor, where, true)
  if (mayLackReturn && cursor.isSymbol(')')) {
    return { kind: 'match', patterns, optional, ...clauses, ...nothingReturned, ...cursor.spanFrom(start) }
  }
  if (!cursor.takeWord('RETURN')) throw cursor.unexpected(['RETURN'], adviceInMatch(cursor))
  const returned = parseReturned(cursor)
  const all = parseLateClauses(cursor, clauses, true)
  return { kind: 'match', patterns, optional, ...all, ...returned, ...cursor.spanFrom(start) }
}

const optionalMax = 16

const modes: ReadonlyMap<string | undefined, PathMode> = new Map([
  ['WALK', 'walk'],
  ['TRAIL', 'trail'],
  ['ACYCLIC', 'acyclic'],
  ['SIMPLE', 'simple'],
])

/** A word before an equals sign is the name of a pattern. */
function takeMode(cursor: TokenCursor): PathMode | undefined {
  const mode = cursor.isSymbol('=', 1) ? undefined : modes.get(cursor.wordAt())
  if (mode !== undefined) cursor.next()
  return mode
}

/** ANY, ANY SHORTEST, ALL SHORTEST or SHORTEST n, unless it is the name of a pattern. */
function takeSelection(cursor: TokenCursor): PathSelection | undefined {
  if (cursor.isSymbol('=', 1)) return undefined
  if (cursor.takeWord('ANY')) return { kind: cursor.takeWord('SHORTEST') ? 'anyShortest' : 'any' }
  if (cursor.takeWord('ALL')) {
    cursor.expectWord('SHORTEST')
    return { kind: 'allShortest' }
  }
  if (!cursor.takeWord('SHORTEST')) return undefined
  const place = cursor.peek()
  const count = cursor.expectCount('a number of paths')
  if (count < 1) throw syntaxError(cursor.text, place, 'SHORTEST n takes at least one path')
  return { kind: 'shortest', count }
}

function parsePattern(cursor: TokenCursor, defaultMode: PathMode | undefined, firstSelection?: PathSelection): Pattern {
  const { start } = cursor.peek()
  const isNamed = cursor.isName() && cursor.isSymbol('=', 1)
  const name = isNamed ? cursor.next().text : undefined
  if (isNamed) cursor.next()
  const selection = firstSelection ?? takeSelection(cursor)
  const mode = takeMode(cursor) ?? defaultMode
  if (!cursor.takeWord('PATH')) cursor.takeWord('PATHS')
  const vertices = [parseVertex(cursor)]
  const edges: EdgePattern[] = []
  while (cursor.isSymbol('-') || cursor.isSymbol('<')) {
    edges.push(parseEdge(cursor))
    vertices.push(parseVertex(cursor))
    cursor.checkChain(edges.length)
  }
  return { name, selection, mode, vertices, edges, ...cursor.spanFrom(start) }
}

function parseVertex(cursor: TokenCursor): VertexPattern {
  const { start } = cursor.expectSymbol('(')
  const name = cursor.isName() ? cursor.next().text : undefined
  const className = cursor.takeSymbol(':') ? cursor.expectQualifiedName('a class') : undefined
  const where = cursor.isSymbol('{') ? parseVertexPredicate(cursor) : undefined
  if (cursor.isWord('WHERE'))
    throw cursor.unexpected(["')'"], 'conditions on a vertex stand in braces, as in (a:C {b > 1})')
  cursor.expectSymbol(')')
  return { name, className, where, ...cursor.spanFrom(start) }
}

/** `{predicate}`, or `{attribute: value, …}`, which requires all of these values. */
function parseVertexPredicate(cursor: TokenCursor): Expression | undefined {
  const isPairs = cursor.isName(1) && cursor.isSymbol(':', 2)
  if (!isPairs) {
    const predicates = cursor.braces(() => parseExpression(cursor))
    return conjunction(predicates)
  }
  const equalities = cursor.braces((): Expression => {
    const attribute = cursor.expectName('an attribute')
    const name: Expression = { kind: 'name', name: attribute.text, start: attribute.start, end: attribute.end }
    cursor.expectSymbol(':')
    const value = parseExpression(cursor)
    return { kind: 'operation', operator: 'equal', operands: [name, value], ...cursor.spanFrom(attribute.start) }
  })
  return conjunction(equalities)
}

function conjunction(predicates: readonly Expression[]): Expression | undefined {
  const [first] = predicates
  const last = predicates.at(-1)
  if (first === undefined || last === undefined || predicates.length === 1) return first
  return { kind: 'operation', operator: 'and', operands: predicates, start: first.start, end: last.end }
}

/** `-->`, `<--`, `--`, `-[…]->`, `<-[…]-`, `-[…]-`. */
function parseEdge(cursor: TokenCursor): EdgePattern {
  const { start } = cursor.peek()
  const isBackward = cursor.takeSymbol('<')
  cursor.expectSymbol('-')
  const body = cursor.takeSymbol('[') ? parseEdgeBody(cursor) : noBody
  cursor.expectSymbol('-')
  const isForward = cursor.takeSymbol('>')
  const span = cursor.spanFrom(start)
  if (isBackward && isForward) throw cursor.unexpected(['an edge in one direction'])
  const direction = isForward ? 'forward' : isBackward ? 'backward' : 'either'
  return { ...body, direction, ...span }
}

type EdgeBody = Pick<EdgePattern, 'name' | 'attributes' | 'length'>

const noBody: EdgeBody = { name: undefined, attributes: undefined, length: undefined }

function parseEdgeBody(cursor: TokenCursor): EdgeBody {
  const name = cursor.isName() ? cursor.next().text : undefined
  const attributes = cursor.takeSymbol(':') ? parseAttributes(cursor) : undefined
  const length = cursor.takeSymbol('*') ? parseLength(cursor) : undefined
  if (cursor.isSymbol('{')) throw cursor.unexpected(["']'"], hintText(conditionOnEdge))
  cursor.expectSymbol(']')
  return { name, attributes, length }
}

/** `a|b`: alternatives. */
function parseAttributes(cursor: TokenCursor): QualifiedName[] {
  const attributes = [cursor.expectQualifiedName('an attribute')]
  while (cursor.takeSymbol('|')) {
    attributes.push(cursor.expectQualifiedName('an attribute'))
    cursor.checkChain(attributes.length)
  }
  return attributes
}

/** `*`, `*n`, `*m..n`, `*..n`, `*m..`. */
function parseLength(cursor: TokenCursor): { min: number; max: number | undefined } {
  const isCount = (): boolean => cursor.peek().kind === 'literal'
  const first = isCount() ? cursor.expectCount('a number of edges') : undefined
  if (!cursor.takeSymbol('..')) return { min: first ?? 1, max: first }
  const last = isCount() ? cursor.expectCount('a number of edges') : undefined
  return { min: first ?? 1, max: last }
}
