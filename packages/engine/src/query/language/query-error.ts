/** Errors of queries with a position in the text: line, column and the text at fault. */
import { AshlarError, type CommandPlace, type ErrorKind, truncateForMessage } from '../../errors.ts'
import type { Span } from './ast.ts'

const place = ['query']

/** 400: the text is not valid DO. `expected` lists the tokens that the grammar allows at the position. */
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

/** 422: names cannot be resolved or types don't match. */
export function queryError(text: string, span: Span, message: string): AshlarError {
  const position = positionOf(text, span)
  return new AshlarError(
    'QueryError',
    `Line ${position.line}, column ${position.column}: ${sentence(message)}`,
    [{ place, message }],
    { ...position },
  )
}

/** Kinds of errors that a text may cause; all other kinds are faults of the store or the server. */
const kindsOfTexts: ReadonlySet<ErrorKind> = new Set(['malformed', 'notFound', 'conflict', 'unprocessable'])

/**
 * Assigns the error of a command to the text: the error names a place in the command, which is replaced by the place of `span`. Errors that already
 * have a place in the text, or that no text causes, stay as they are.
 */
export function placed(text: string, span: Span, error: unknown): unknown {
  if (!(error instanceof AshlarError) || 'line' in error.extensions) return error
  if (!kindsOfTexts.has(error.kind)) return error
  const position = positionOf(text, span)
  const { type, message, errors, extensions } = error
  const [first = { message }] = errors
  // Violations of constraints carry more than their place.
  const faults = errors.filter(({ fault }) => fault !== undefined)
  const details = (faults.length === 0 ? [{ message: first.message }] : faults).map((one) => ({ ...one, place }))
  return new AshlarError(type, `Line ${position.line}, column ${position.column}: ${message}`, details, {
    ...extensions,
    ...position,
  })
}

/** Executes the command made from a piece of the text; if it fails, `spanOf` maps the error's place in the command to a span of the text. */
export async function atPlace<T>(
  text: string,
  spanOf: (place: CommandPlace) => Span | undefined,
  execute: () => T | Promise<T>,
): Promise<T> {
  try {
    return await execute()
  } catch (error) {
    const span = error instanceof AshlarError ? spanOf(error.errors[0]?.place ?? []) : undefined
    throw span === undefined ? error : placed(text, span, error)
  }
}

/** `a, b or c`. */
function alternatives(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** A message may end with a hint and its question mark. */
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
  return { line, column: start - lineStart + 1, text: truncateForMessage(text.slice(start, Math.max(end, start))) }
}

export function excerpt(text: string, { start, end }: Span): string {
  return truncateForMessage(text.slice(start, end))
}
