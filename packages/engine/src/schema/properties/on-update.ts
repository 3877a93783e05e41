/** `onUpdate`: an expression whose value the attribute gets with each change of its object that leaves it as it is. */
import { defineExpression, isGivenAsExpression } from '../expression.ts'
import { type AttributeProperty, invalidProperty, isScalar } from './attribute-property.ts'

export const onUpdate: AttributeProperty = {
  field: 'onUpdate',
  word: 'OnUpdate',
  form: 'expression',
  types: 'scalars of referenceable classes',
  appliesTo: ({ spec, isElement, isEmbeddable }) => !isElement && !isEmbeddable && isScalar(spec),
  define(given) {
    if (!isGivenAsExpression(given)) throw invalidProperty('onUpdate', 'is an object with an expression')
    return defineExpression('onUpdate', given.expression)
  },
}
