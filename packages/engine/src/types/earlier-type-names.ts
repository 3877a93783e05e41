/** Words for types that clients of the original use: `Float`, and `ooMap` for NameToReferenceMap. */
import type { TypeDefinition } from './type-definition.ts'

/** The definition in the words of today. A float is a real, of 32 bits unless it says otherwise. */
export function withCurrentTypeNames(definition: TypeDefinition): TypeDefinition {
  if (isWord(definition.logicalType, 'float')) {
    return { ...definition, logicalType: 'real', storage: definition.storage ?? 'b32' }
  }
  if (isWord(definition.logicalType, 'map') && isWord(definition.collectionTypeName, 'oomap')) {
    return { ...definition, collectionTypeName: 'NameToReferenceMap' }
  }
  return definition
}

function isWord(given: string | null | undefined, word: string): boolean {
  return given?.toLowerCase() === word
}
