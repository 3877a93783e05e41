/** `computed`: an expression that gives the attribute's value, evaluated on each read or stored with the object. */
import { defineExpression, isExpressionInput, notAnExpression } from '../expression.ts'
import { type AttributeProperty, defineFlag, invalidProperty, isScalar } from './attribute-property.ts'

/** The fields that a definition may combine with `computed`. */
export const allowedWithComputed: readonly string[] = ['computed', 'isUnique', 'title', 'description', 'annotations']

export const computed: AttributeProperty = {
  field: 'computed',
  word: 'Computed',
  form: 'computed',
  types: 'scalars, references without an inverse and lists of them',
  appliesTo({ spec, isElement }) {
    const valueSpec = spec.logicalType === 'list' ? spec.element : spec
    const isReference = valueSpec.logicalType === 'reference' && valueSpec.inverseAttribute === null
    const isLinks = spec.logicalType === 'list' && spec.collectionTypeName === 'TreeListOfReferences'
    return !isElement && !isLinks && (isScalar(valueSpec) || isReference)
  },
  define(input) {
    if (!isExpressionInput(input)) throw notAnExpression('computed', input)
    const { expression, isStored, ...others } = input as Readonly<Record<string, unknown>>
    const [other] = Object.keys(others)
    if (other !== undefined)
      throw invalidProperty('computed', `has no field '${other}'; its fields are expression and isStored`)
    const isPersisted = isStored !== undefined && defineFlag('computed', isStored, 'computed.isStored') === true
    return { ...defineExpression('computed', expression), ...(isPersisted ? { isStored: true } : {}) }
  },
}
