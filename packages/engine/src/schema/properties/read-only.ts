/** `isReadOnly`: the attribute keeps the value given at creation. */
import { type AttributeProperty, defineFlag } from './attribute-property.ts'

export const isReadOnly: AttributeProperty = {
  field: 'isReadOnly',
  word: 'ReadOnly',
  form: 'flag',
  types: 'attributes of referenceable classes',
  appliesTo: ({ isElement, isEmbeddable }) => !isElement && !isEmbeddable,
  define: (input) => defineFlag('isReadOnly', input),
}
