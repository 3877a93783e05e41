/** Reads fields of request bodies: checks JSON types and rejects unknown fields. Places in errors are relative to the body. */
import type { CommandPlace } from '../errors.ts'
import { commandError, truncateForMessage } from '../schema/command-error.ts'
import { endWithKnown } from '../schema/names.ts'
import { formatForMessage } from '../types/logical-type.ts'

export type JsonObject = { readonly [field: string]: unknown }

export function isObject(given: unknown): given is JsonObject {
  return typeof given === 'object' && given !== null && !Array.isArray(given)
}

/** `what` is used in the message. Throws MalformedRequest. */
export function objectOf(given: unknown, what: string, place: CommandPlace): JsonObject {
  if (isObject(given)) return given
  throw commandError('MalformedRequest', `${what} is a JSON object, not ${formatForMessage(given)}.`, place)
}

/** Throws UnknownField. */
export function refuseUnknownFields(
  given: JsonObject,
  known: readonly string[],
  what: string,
  place: CommandPlace,
): void {
  for (const field of Object.keys(given)) {
    if (known.includes(field)) continue
    throw commandError('UnknownField', unknownField(what, field, known), [...place, field])
  }
}

function unknownField(what: string, field: string, known: readonly string[]): string {
  return `${what} may not have the field '${truncateForMessage(field)}'${endWithKnown(field, known, 'field')}`
}

/** Accepts JSON booleans, also quoted; undefined for anything else (contract 1.2.6). */
export function booleanIn(given: unknown): boolean | undefined {
  if (given === true || given === 'true') return true
  return given === false || given === 'false' ? false : undefined
}
