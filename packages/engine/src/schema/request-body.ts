/** Reads the fields of a request body: JSON types and unknown fields, with JSON pointers to what is wrong. */
import { AshlarError, type ErrorType } from '../errors.ts'
import { shownValue } from '../types/logical-type.ts'

export type JsonObject = { readonly [field: string]: unknown }

const shownCharactersMax = 60

/** An error with one detail: the message at its place. */
export function fault(type: ErrorType, message: string, pointer: string): AshlarError {
  return new AshlarError(type, message, [{ pointer, message }])
}

/** `what` is named in the message. Throws MalformedRequest. */
export function objectOf(given: unknown, what: string, pointer: string): JsonObject {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given as JsonObject
  throw fault('MalformedRequest', `${what} is a JSON object, not ${shownValue(given)}.`, pointer)
}

/** Throws UnknownField. */
export function refuseUnknownFields(given: JsonObject, known: readonly string[], what: string, pointer: string): void {
  for (const field of Object.keys(given)) {
    if (known.includes(field)) continue
    throw fault('UnknownField', `${what} has no field '${shownText(field)}'.`, `${pointer}/${escapeStep(field)}`)
  }
}

/** JSON's true or false, or the same quoted; undefined for anything else (contract 1.2.6). */
export function booleanIn(given: unknown): boolean | undefined {
  if (given === true || given === 'true') return true
  return given === false || given === 'false' ? false : undefined
}

/** RFC 6901, section 3. */
export function escapeStep(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** A name that a client sent, as messages show it. */
export function shownText(text: string): string {
  return text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text
}
