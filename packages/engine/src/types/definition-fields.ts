/** Reads the fields of a type definition: words in any case, with their defaults (contract 3.1). */
import { formatForMessage, ValueError } from './logical-type.ts'
import {
  type CountField,
  fieldForms,
  type NameField,
  type TypeDefinition,
  type TypeField,
  type WordField,
} from './type-definition.ts'

/** One of the allowed words, spelled as in `allowed`. Absent or null means the default. */
export function enumField<W extends string>(
  definition: TypeDefinition,
  field: WordField,
  allowed: readonly W[],
  fallback: W,
): W {
  const input = definition[field]
  if (input === undefined || input === null) return fallback
  const word = allowed.find((candidate) => candidate.toLowerCase() === input.toLowerCase())
  if (word !== undefined) return word
  const words = allowed.filter((candidate) => candidate !== '')
  throw wrongField(field, 'InvalidDefinition', `is ${words.join(' or ')}, not ${formatForMessage(input)}`)
}

/** A non-empty text; undefined if absent, null or empty. */
export function stringField(definition: TypeDefinition, field: NameField): string | undefined {
  const input = definition[field]
  return input === null || input === '' ? undefined : input
}

/** A non-negative integer; undefined if absent or null. */
export function countField(
  definition: TypeDefinition,
  field: CountField,
  min: number,
  max: number,
): number | undefined {
  const input = definition[field]
  if (input === undefined || input === null) return undefined
  const count = Number(input)
  if (Number.isInteger(count) && count >= min && count <= max) return count
  throw wrongField(
    field,
    'InvalidDefinition',
    `must be an integer from ${min} to ${max}, not ${formatForMessage(input)}`,
  )
}

/** Runs `define` for a nested definition, and prefixes the path of its errors with the field. */
export function inField<T>(field: string | number, define: () => T): T {
  try {
    return define()
  } catch (error) {
    if (error instanceof ValueError) error.path.unshift(field)
    throw error
  }
}

export function wrongField(field: TypeField, type: ValueError['type'], words: string): ValueError {
  const error = new ValueError(type, `${field} ${words}`)
  error.path = [field]
  return error
}

/** The message for a field of the wrong form. */
export function wrongForm(field: TypeField, input: unknown): string {
  return `${field} is ${fieldForms[field]}, not ${formatForMessage(input)}`
}
