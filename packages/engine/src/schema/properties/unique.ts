/** `isUnique`: no two objects of the class have the same value, enforced by a dedicated unique index. */
import { type AttributeProperty, defineFlag, isCollection } from './attribute-property.ts'

export const isUnique: AttributeProperty = {
  field: 'isUnique',
  word: 'Unique',
  form: 'flag',
  types: 'attributes of referenceable classes whose type can be a key',
  appliesTo: ({ spec, isElement, isEmbeddable }) => {
    return !isElement && !isEmbeddable && !isCollection(spec) && !['object', 'json'].includes(spec.logicalType)
  },
  define: (input) => defineFlag('isUnique', input),
}
