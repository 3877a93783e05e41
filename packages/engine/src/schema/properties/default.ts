/** `default`: the initial value of an attribute that a creation leaves out, either constant or given by an expression. */
import { defineExpression, isExpression, isExpressionInput } from '../expression.ts'
import { type AttributeProperty, defineValue, invalidProperty, isScalar } from './attribute-property.ts'

export const defaultValue: AttributeProperty = {
  field: 'default',
  word: 'Default',
  form: 'value',
  types: 'scalars and lists of them',
  appliesTo: ({ spec, isElement }) =>
    !isElement && (isScalar(spec) || (spec.logicalType === 'list' && isScalar(spec.element))),
  define(input, target) {
    // A list is never null: as in bodies, null means that it is empty.
    if (input === null) return isScalar(target.spec) ? null : defineValue('default', [], target)
    if (!isExpressionInput(input) || (target.spec.logicalType as string) === 'json')
      return defineValue('default', input, target)
    if (!isScalar(target.spec) || target.isEmbeddable) {
      throw invalidProperty('default', 'is an expression for scalars of referenceable classes only')
    }
    return defineExpression('default', input.expression)
  },
  mapValues: (stored, map) => (stored === null || isExpression(stored) ? stored : map(stored)),
}
