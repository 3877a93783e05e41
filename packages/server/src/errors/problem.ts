/** The body of every error reply (contract 1.4.1). */
import { type AshlarError, type ErrorDetail, listOfNames } from '@ashlar/engine'
import { type ProblemType, problemEntry } from './server-errors.ts'

/** `pointer`: a JSON pointer (RFC 6901) into the request body. */
export interface ProblemDetail {
  readonly pointer: string
  readonly message: string
  /** Further facts about the error, such as the violated constraint. */
  readonly [extension: string]: unknown
}

/** Both a valid problem document (RFC 9457) and readable by clients that use `message` and `type`. */
export interface Problem {
  readonly type: ProblemType
  readonly title: string
  readonly status: number
  readonly message: string
  readonly errors?: readonly ProblemDetail[]
  readonly [extension: string]: unknown
}

export function makeProblem(type: ProblemType, message: string, errors: readonly ProblemDetail[] = []): Problem {
  const { status, title } = problemEntry(type)
  return { type, title, status, message, ...(errors.length === 0 ? {} : { errors }) }
}

/** The place in a command is also the place in the request body from which it was read. */
export function problemDetails({ errors }: AshlarError): ProblemDetail[] {
  return errors.map(({ place, message, fault }) => ({ pointer: pointerTo(place), message, ...fault }))
}

/** Maximum length of a name in a pointer. */
const pointerStepCharactersMax = 1_000

/** Returns a pointer to the place of an error; for an excessively long name, to its parent. */
export function pointerTo(place: ErrorDetail['place']): string {
  const long = place.findIndex((step) => typeof step === 'string' && step.length > pointerStepCharactersMax)
  const named = long === -1 ? place : place.slice(0, long)
  return named.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** Returns the problem of a missing body. `required`: its required fields. */
export function missingBody(required: readonly string[] = []): Problem {
  const fields =
    required.length === 0 ? '' : ` with the field${required.length === 1 ? '' : 's'} ${listOfNames(required)}`
  return makeProblem('MalformedRequest', `The operation needs a body${fields}.`)
}

export const namesListedMax = 10
export const nameCharactersMax = 60

/** Quotes a text from a client, truncated. */
export function quoteForMessage(text: string): string {
  return `'${text.slice(0, nameCharactersMax)}'`
}

/** Quotes names from a client, bounded. */
export function quoteNames(names: readonly string[]): string {
  const quoted = names.slice(0, namesListedMax).map(quoteForMessage)
  return `${quoted.join(', ')}${names.length > namesListedMax ? ' and others' : ''}`
}
