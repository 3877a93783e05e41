/** Where the values of an attribute are kept: in the object's record, or as link entries beside it. */
import type { TypeSpec } from './type-spec.ts'

export type LinkStorage = 'list' | 'set' | 'map'

/**
 * Named collections and every to-many side of a bidirectional link are link entries, so that an element is added
 * at the cost of one entry however many there are. Everything else, and all within embedded objects, is in the record.
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
