/** Validates single values against a type, for clients that check values before sending them. */
import { unreachable } from '../errors.ts'
import { codecFor, defineType } from './index.ts'
import { ValueError } from './logical-type.ts'
import type { TypeDefinition } from './type-definition.ts'

function unsupported(): never {
  unreachable('single values have nothing to do with classes')
}

const noClasses = { resolveClass: unsupported, resolveAttribute: unsupported, embedded: unsupported }

/** `definition`: of a scalar type. The check returns the reason why the server would reject a value, or undefined. Throws ValueError. */
export function valueChecker(definition: TypeDefinition): (json: unknown) => string | undefined {
  const codec = codecFor(defineType(definition, noClasses), noClasses)
  return (json) => {
    if (json === null && codec.isNullable) return undefined
    try {
      codec.parse(json)
      return undefined
    } catch (error) {
      if (error instanceof ValueError) return error.message
      throw error
    }
  }
}
