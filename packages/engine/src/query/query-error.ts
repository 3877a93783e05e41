/** Errors of a query, which point into its text: line, column and the piece of text. */
import { AshlarError, type ErrorKind } from '../errors.ts'
import type { Span } from './ast.ts'

const shownCharactersMax = 60
const pointer = '/query'

/** 400: the text is no DO. `expected` tells what could have stood there. */
export function syntaxError(text: string, span: Span, message: string, expected: readonly string[] = []): AshlarError {
  const place = placeOf(text, span)
  const hint = expected.length === 0 ? '' : `; expected ${alternatives(expected)}`
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

/** What a text can be to blame for; the rest is the store's, or ours. */
const kindsOfTexts: ReadonlySet<ErrorKind> = new Set(['malformed', 'notFound', 'conflict', 'unprocessable'])

/**
 * The error of an operation that a statement carries out, as one of the text: `span` is what asked for it, and the place that the
 * error names is one in a body that nobody sent. What has a place in the text already, and what no text is to blame for, stays.
 */
export function placed(text: string, span: Span, error: unknown): unknown {
  if (!(error instanceof AshlarError) || 'line' in error.extensions) return error
  if (!kindsOfTexts.has(error.kind)) return error
  const place = placeOf(text, span)
  const { type, message, errors, extensions } = error
  const detail = { pointer, message: errors[0]?.message ?? message }
  return new AshlarError(type, `Line ${place.line}, column ${place.column}: ${message}`, [detail], {
    ...extensions,
    ...place,
  })
}

/** Carries out what a piece of the text asks for; where it fails, `spanOf` the body's place in the error is the piece to blame. */
export async function atPlace<T>(
  text: string,
  spanOf: (pointer: string) => Span | undefined,
  carryOut: () => T | Promise<T>,
): Promise<T> {
  try {
    return await carryOut()
  } catch (error) {
    const span = error instanceof AshlarError ? spanOf(error.errors[0]?.pointer ?? '') : undefined
    throw span === undefined ? error : placed(text, span, error)
  }
}

/** `a, b or c`. */
function alternatives(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
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
