/** `onUpdate`: an expression that sets the attribute on every change of its object that does not set it. */
import { defineExpression, isExpressionInput, notAnExpression } from '../expression.ts'
import { type AttributeProperty, isScalar } from './attribute-property.ts'

export const onUpdate: AttributeProperty = {
  field: 'onUpdate',
  word: 'OnUpdate',
  form: 'expression',
  types: 'scalars of referenceable classes, except json',
  appliesTo: ({ spec, isElement, isEmbeddable }) =>
    !isElement && !isEmbeddable && isScalar(spec) && spec.logicalType !== 'json',
  define(input) {
    if (!isExpressionInput(input)) throw notAnExpression('onUpdate', input)
    return defineExpression('onUpdate', input.expression)
  },
}
