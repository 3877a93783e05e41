/** What the fields of a type definition say: words in any case, with their defaults (contract 3.1). */
import { formatForMessage, ValueError } from './logical-type.ts'
import {
  type CountField,
  fieldForms,
  type NameField,
  type TypeDefinition,
  type TypeField,
  type WordField,
} from './type-definition.ts'

/** One of the allowed words, written as in `allowed`. An absent or null field takes the default. */
export function enumField<W extends string>(
  definition: TypeDefinition,
  field: WordField,
  allowed: readonly W[],
  fallback: W,
): W {
  const given = definition[field]
  if (given === undefined || given === null) return fallback
  const word = allowed.find((candidate) => candidate.toLowerCase() === given.toLowerCase())
  if (word !== undefined) return word
  const words = allowed.filter((candidate) => candidate !== '')
  throw wrongField(field, 'InvalidDefinition', `is ${words.join(' or ')}, not ${formatForMessage(given)}`)
}

/** A text that must not be empty. Undefined where the field is absent, null or empty. */
export function stringField(definition: TypeDefinition, field: NameField): string | undefined {
  const given = definition[field]
  return given === null || given === '' ? undefined : given
}

/** A whole number. Undefined where the field is absent or null. */
export function countField(
  definition: TypeDefinition,
  field: CountField,
  min: number,
  max: number,
): number | undefined {
  const given = definition[field]
  if (given === undefined || given === null) return undefined
  const count = Number(given)
  if (Number.isInteger(count) && count >= min && count <= max) return count
  throw wrongField(
    field,
    'InvalidDefinition',
    `is a whole number from ${min} to ${max}, not ${formatForMessage(given)}`,
  )
}

/** Runs `define` for a nested definition, so that faults within it are told with its field. */
export function within<T>(field: string | number, define: () => T): T {
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

/** What is wrong with a field of another form. */
export function wrongForm(field: TypeField, given: unknown): string {
  return `${field} is ${fieldForms[field]}, not ${formatForMessage(given)}`
}
