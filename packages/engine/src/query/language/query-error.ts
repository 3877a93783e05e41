/** Errors of a query, which point into its text: line, column and the piece of text. */
import { AshlarError, type CommandPlace, type ErrorKind } from '../../errors.ts'
import type { Span } from './ast.ts'

const shownCharactersMax = 60
const place = ['query']

/** 400: the text is no DO. `expected` tells what could have stood there. */
export function syntaxError(text: string, span: Span, message: string, expected: readonly string[] = []): AshlarError {
  const position = positionOf(text, span)
  const hint = expected.length === 0 ? '' : `; expected ${alternatives(expected)}`
  return new AshlarError(
    'QuerySyntaxError',
    `Line ${position.line}, column ${position.column}: ${message}${hint}.`,
    [{ place, message }],
    { ...position, ...(expected.length === 0 ? {} : { expected }) },
  )
}

/** 422: names or types that do not fit. */
export function queryError(text: string, span: Span, message: string): AshlarError {
  const position = positionOf(text, span)
  return new AshlarError(
    'QueryError',
    `Line ${position.line}, column ${position.column}: ${sentence(message)}`,
    [{ place, message }],
    { ...position },
  )
}

/** What a text can be to blame for; the rest is the store's, or ours. */
const kindsOfTexts: ReadonlySet<ErrorKind> = new Set(['malformed', 'notFound', 'conflict', 'unprocessable'])

/**
 * The error of an operation that a statement carries out, as one of the text: `span` is what asked for it, and the place that the
 * error names is one in the command that the statement became. What has a place in the text already, and what no text is to blame for, stays.
 */
export function placed(text: string, span: Span, error: unknown): unknown {
  if (!(error instanceof AshlarError) || 'line' in error.extensions) return error
  if (!kindsOfTexts.has(error.kind)) return error
  const position = positionOf(text, span)
  const { type, message, errors, extensions } = error
  const [first = { message }] = errors
  // Violations of constraints say more than their place.
  const faults = errors.filter(({ fault }) => fault !== undefined)
  const details = (faults.length === 0 ? [{ message: first.message }] : faults).map((one) => ({ ...one, place }))
  return new AshlarError(type, `Line ${position.line}, column ${position.column}: ${message}`, details, {
    ...extensions,
    ...position,
  })
}

/** Carries out the command that a piece of the text became; where it fails, `spanOf` the place in the command is the piece to blame. */
export async function atPlace<T>(
  text: string,
  spanOf: (place: CommandPlace) => Span | undefined,
  carryOut: () => T | Promise<T>,
): Promise<T> {
  try {
    return await carryOut()
  } catch (error) {
    const span = error instanceof AshlarError ? spanOf(error.errors[0]?.place ?? []) : undefined
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

interface Position {
  /** From 1. */
  readonly line: number
  /** From 1, in UTF-16 units. */
  readonly column: number
  readonly text: string
}

function positionOf(text: string, { start, end }: Span): Position {
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
export function truncateForMessage(text: string): string {
  return text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text
}

/** A part of the text, where a message or a plan shows it. */
export function shownPart(text: string, { start, end }: Span): string {
  return truncateForMessage(text.slice(start, end))
}
