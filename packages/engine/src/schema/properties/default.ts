/** `default`: the initial value of an attribute that a creation leaves out, either constant or given by an expression. */
import { defineExpression, isExpression, isGivenAsExpression } from '../expression.ts'
import { type AttributeProperty, defineValue, invalidProperty, isScalar } from './attribute-property.ts'

export const defaultValue: AttributeProperty = {
  field: 'default',
  word: 'Default',
  form: 'value',
  types: 'scalars and lists of them',
  appliesTo: ({ spec, isElement }) =>
    !isElement && (isScalar(spec) || (spec.logicalType === 'list' && isScalar(spec.element))),
  define(given, target) {
    if (given === null) return null
    if (!isGivenAsExpression(given) || (target.spec.logicalType as string) === 'json')
      return defineValue('default', given, target)
    if (!isScalar(target.spec) || target.isEmbeddable) {
      throw invalidProperty('default', 'is an expression for scalars of referenceable classes only')
    }
    return defineExpression('default', given.expression)
  },
  mapValues: (stored, map) => (stored === null || isExpression(stored) ? stored : map(stored)),
}
