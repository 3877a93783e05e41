/** `isRequired`: the value is never null. */
import { noOid } from '../../types/oid.ts'
import { type AttributeProperty, defineFlag, isScalar } from './attribute-property.ts'

export const isRequired: AttributeProperty = {
  field: 'isRequired',
  word: 'Required',
  form: 'flag',
  types: 'scalars and single references',
  appliesTo: ({ spec, isElement }) => !isElement && (isScalar(spec) || spec.logicalType === 'reference'),
  define: (input) => defineFlag('isRequired', input),
  constraint: () => ({
    name: 'isRequired',
    requirement: 'is required',
    isSatisfied: (value) => value !== null && value !== noOid,
  }),
}
