/** Splits the text of an expression into parts, replacing names with the numbers of the attributes and classes they refer to. */
import type { Span } from '../query/language/ast.ts'
import { Lexer } from '../query/parse/lexer.ts'
import type { Token } from '../query/parse/token.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { ExpressionPart } from '../schema/expression.ts'
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'

/** A name in the text, with the attribute or class that it resolves to. */
export interface NamedPlace extends Span {
  readonly attribute?: AttributeNumber
  readonly class?: ClassNumber
}

interface Piece extends Span {
  readonly part: ExpressionPart
}

/** `places`: where several have the same position, the last one wins, because a binder may backtrack. */
export function expressionParts(text: string, places: readonly NamedPlace[], catalog: Catalog): ExpressionPart[] {
  const tokens = nameTokens(text)
  const byStart = new Map<number, Piece[]>()
  for (const place of places) byStart.set(place.start, piecesOf(place, tokens, text, catalog))
  const pieces = [...byStart.values()].flat().sort((one, other) => one.start - other.start)
  const parts: ExpressionPart[] = []
  let at = 0
  for (const { start, end, part } of pieces) {
    if (start < at) continue
    if (start > at) parts.push(text.slice(at, start))
    parts.push(part)
    at = end
  }
  if (at < text.length) parts.push(text.slice(at))
  return parts
}

function nameTokens(text: string): Token[] {
  const lexer = new Lexer(text)
  const tokens: Token[] = []
  for (let token = lexer.next(); token.kind !== 'end'; token = lexer.next()) tokens.push(token)
  return tokens
}

/** Splits `Base::name` into the class and the attribute. */
function piecesOf(place: NamedPlace, tokens: readonly Token[], text: string, catalog: Catalog): Piece[] {
  const within = tokens.filter(({ start, end }) => start >= place.start && end <= place.end)
  const names = within.filter(({ kind }) => kind === 'name')
  const last = names.at(-1)
  if (last === undefined) return []
  if (place.class !== undefined) return [classPiece(names, place.class)]
  if (place.attribute === undefined) return []
  const { start, end } = last
  const piece: Piece = { start, end, part: { attribute: place.attribute, as: nameOf(last, text) } }
  const isQualified = within.some(({ kind, text: symbol }) => kind === 'symbol' && symbol === '::')
  if (!isQualified) return [piece]
  const qualifier = names.slice(0, -1)
  const written = qualifier.map(({ text: name }) => name).join('.')
  const simple = catalog.classes.filter(({ name }) => name.endsWith(`.${written}`))
  const cls = catalog.classByName(written) ?? (simple.length === 1 ? simple[0] : undefined)
  return cls === undefined ? [piece] : [classPiece(qualifier, cls.number), piece]
}

function classPiece(names: readonly Token[], number: ClassNumber): Piece {
  const [first, last] = [names[0] as Token, names.at(-1) as Token]
  return { start: first.start, end: last.end, part: { class: number, as: names.map(({ text }) => text).join('.') } }
}

/** Keeps backquotes: a quoted name may be a keyword. */
function nameOf(token: Token, text: string): string {
  return token.kind === 'name' && token.isQuoted ? text.slice(token.start, token.end) : token.text
}
