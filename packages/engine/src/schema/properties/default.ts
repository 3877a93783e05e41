/** `default`: what a creation that leaves the attribute out gets. */
import { type AttributeProperty, defineValue, isScalar } from './attribute-property.ts'

export const defaultValue: AttributeProperty = {
  field: 'default',
  word: 'Default',
  form: 'value',
  types: 'scalars and lists of them',
  appliesTo: ({ spec, isElement }) =>
    !isElement && (isScalar(spec) || (spec.logicalType === 'list' && isScalar(spec.element))),
  define: (given, target) => (given === null ? null : defineValue('default', given, target)),
  mapValues: (stored, map) => (stored === null ? null : map(stored)),
}
