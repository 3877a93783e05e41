/** Errors of a query, which point into its text: line, column and the piece of text. */
import { AshlarError } from '../errors.ts'
import type { Span } from './ast.ts'

const shownCharactersMax = 60
const pointer = '/query'

/** 400: the text is no DO. `expected` tells what could have stood there. */
export function syntaxError(text: string, span: Span, message: string, expected: readonly string[] = []): AshlarError {
  const place = placeOf(text, span)
  const hint = expected.length === 0 ? '' : `; expected ${expected.join(' or ')}`
  return new AshlarError(
    'QuerySyntaxError',
    `Line ${place.line}, column ${place.column}: ${message}${hint}.`,
    [{ pointer, message }],
    { ...place, ...(expected.length === 0 ? {} : { expected }) },
  )
}

/** 422: names or types that do not fit. */
export function queryError(text: string, span: Span, message: string): AshlarError {
  const place = placeOf(text, span)
  return new AshlarError(
    'QueryError',
    `Line ${place.line}, column ${place.column}: ${sentence(message)}`,
    [{ pointer, message }],
    { ...place },
  )
}

/** A hint ends with a question mark of its own. */
function sentence(message: string): string {
  return message.endsWith('?') ? message : `${message}.`
}

interface Place {
  /** From 1. */
  readonly line: number
  /** From 1, in UTF-16 units. */
  readonly column: number
  readonly text: string
}

function placeOf(text: string, { start, end }: Span): Place {
  let line = 1
  let lineStart = 0
  for (let at = text.indexOf('\n'); at >= 0 && at < start; at = text.indexOf('\n', at + 1)) {
    line++
    lineStart = at + 1
  }
  const piece = text.slice(start, Math.max(end, start))
  const shown = piece.length > shownCharactersMax ? `${piece.slice(0, shownCharactersMax)}…` : piece
  return { line, column: start - lineStart + 1, text: shown }
}

/** A piece of the text as messages show it. */
export function shownPiece(text: string): string {
  return text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text
}
