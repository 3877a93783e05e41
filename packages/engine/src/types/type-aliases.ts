/** Aliases of types: `instant`, and, from the original, `Float`, and `ooMap` for NameToReferenceMap. */
import { wrongField } from './definition-fields.ts'
import { formatForMessage } from './logical-type.ts'
import type { TypeDefinition } from './type-definition.ts'

/** Alias to type name. An alias takes the fields of its type. */
export const typeAliases: ReadonlyMap<string, string> = new Map([
  ['float', 'real'],
  ['instant', 'datetime'],
])

const instantStorage = 'datetimeoffset'

/** The definition without aliases. A float is a real, of 32 bits by default. Throws ValueError. */
export function withoutAliases(definition: TypeDefinition): TypeDefinition {
  if (isWord(definition.logicalType, 'float')) {
    return { ...definition, logicalType: 'real', storage: definition.storage ?? 'b32' }
  }
  if (isWord(definition.logicalType, 'instant')) {
    const { storage } = definition
    if (storage !== undefined && storage !== null && !isWord(storage, instantStorage)) {
      const words = `of an instant is ${instantStorage}, not ${formatForMessage(storage)}`
      throw wrongField('storage', 'InvalidDefinition', `${words}; a date and time without a zone is a datetime`)
    }
    return { ...definition, logicalType: 'datetime', storage: instantStorage }
  }
  if (isWord(definition.logicalType, 'map') && isWord(definition.collectionTypeName, 'oomap')) {
    return { ...definition, collectionTypeName: 'NameToReferenceMap' }
  }
  return definition
}

function isWord(input: string | null | undefined, word: string): boolean {
  return input?.toLowerCase() === word
}
