/** Reads the fields of a type definition: words in any case, with their defaults (contract 3.1). */
import { formatForMessage, type TypeDefinition, ValueError } from './logical-type.ts'

/** One of the allowed words, written as in `allowed`. An absent or null field takes the default. */
export function enumField<W extends string>(
  definition: TypeDefinition,
  field: string,
  allowed: readonly W[],
  fallback: W,
): W {
  const given = definition[field]
  if (given === undefined || given === null) return fallback
  if (typeof given !== 'string') throw wrongField(field, 'MalformedValue', `is a word, not ${formatForMessage(given)}`)
  const word = allowed.find((candidate) => candidate.toLowerCase() === given.toLowerCase())
  if (word !== undefined) return word
  const words = allowed.filter((candidate) => candidate !== '')
  throw wrongField(field, 'InvalidDefinition', `is ${words.join(' or ')}, not ${formatForMessage(given)}`)
}

/** A text that must not be empty. Undefined where the field is absent, null or empty. */
export function stringField(definition: TypeDefinition, field: string): string | undefined {
  const given = definition[field]
  if (given === undefined || given === null || given === '') return undefined
  if (typeof given !== 'string')
    throw wrongField(field, 'MalformedValue', `is a string, not ${formatForMessage(given)}`)
  return given
}

/** A positive whole number, given as a number or as digits. */
export function countField(definition: TypeDefinition, field: string): number | undefined {
  const given = definition[field]
  if (given === undefined || given === null) return undefined
  const isDigits = typeof given === 'string' && /^\d{1,10}$/.test(given)
  if (typeof given !== 'number' && typeof given !== 'bigint' && !isDigits) {
    throw wrongField(field, 'MalformedValue', `is a number, not ${formatForMessage(given)}`)
  }
  const count = Number(given)
  if (Number.isInteger(count) && count >= 1 && count <= countMax) return count
  throw wrongField(
    field,
    'InvalidDefinition',
    `is a whole number from 1 to ${countMax}, not ${formatForMessage(given)}`,
  )
}

const countMax = 1_000_000

export function nestedDefinition(definition: TypeDefinition, field: string): TypeDefinition | undefined {
  const given = definition[field]
  if (given === undefined || given === null) return undefined
  if (typeof given === 'object' && !Array.isArray(given)) return given as TypeDefinition
  throw wrongField(field, 'MalformedValue', `is an object, not ${formatForMessage(given)}`)
}

/** Runs `define` for a nested definition, so that faults within it are told with its field. */
export function within<T>(field: string, define: () => T): T {
  try {
    return define()
  } catch (error) {
    if (error instanceof ValueError) error.path.unshift(field)
    throw error
  }
}

export function wrongField(field: string, type: ValueError['type'], words: string): ValueError {
  const error = new ValueError(type, `${field} ${words}`)
  error.path = [field]
  return error
}
