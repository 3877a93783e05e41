/** Reads fields of request bodies: checks JSON types and rejects unknown fields. Places in errors are relative to the body. */
import { type CommandPlace, truncateForMessage } from '../errors.ts'
import { commandError } from '../schema/command-error.ts'
import { suggestNames } from '../schema/names.ts'
import { formatForMessage } from '../types/logical-type.ts'

export type JsonObject = { readonly [field: string]: unknown }

export function isObject(input: unknown): input is JsonObject {
  return typeof input === 'object' && input !== null && !Array.isArray(input)
}

/** Throws MalformedRequest. */
export function requireJsonObject(input: unknown, what: string, place: CommandPlace): JsonObject {
  if (isObject(input)) return input
  throw commandError('MalformedRequest', `${what} is a JSON object, not ${formatForMessage(input)}.`, place)
}

/** Throws UnknownField. */
export function refuseUnknownFields(
  input: JsonObject,
  allowed: readonly string[],
  what: string,
  place: CommandPlace,
): void {
  for (const field of Object.keys(input)) {
    if (allowed.includes(field)) continue
    throw commandError('UnknownField', unknownField(what, field, allowed), [...place, field])
  }
}

function unknownField(what: string, field: string, allowed: readonly string[]): string {
  return `${what} may not have the field '${truncateForMessage(field)}'${suggestNames(field, allowed, 'field')}`
}

/** Accepts JSON booleans, also quoted; undefined for anything else (contract 1.2.6). */
export function booleanIn(input: unknown): boolean | undefined {
  if (input === true || input === 'true') return true
  return input === false || input === 'false' ? false : undefined
}
