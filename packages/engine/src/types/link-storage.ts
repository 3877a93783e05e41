/** Determines whether values of an attribute are stored in the record or as link entries. */
import type { TypeSpec } from './type-spec.ts'

export type LinkStorage = 'list' | 'set' | 'map'

/**
 * Named collections and to-many sides of bidirectional links are link entries, so that adding an element costs one entry regardless of their size.
 * Everything else, and everything within embedded objects, is in the record.
 */
export function linkStorageOf(spec: TypeSpec): LinkStorage | undefined {
  switch (spec.logicalType) {
    case 'set':
      return 'set'
    case 'map':
      return 'map'
    case 'list': {
      const isPaired = spec.element.logicalType === 'reference' && spec.element.inverseAttribute !== null
      return isPaired || spec.collectionTypeName === 'TreeListOfReferences' ? 'list' : undefined
    }
    default:
      return undefined
  }
}
