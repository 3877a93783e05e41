/** `computed`: an expression that gives the attribute's value, evaluated on each read or stored with the object. */
import { defineExpression, isExpressionInput } from '../expression.ts'
import { type AttributeProperty, defineFlag, invalidProperty, isScalar } from './attribute-property.ts'

/** The fields that a definition may combine with `computed`. */
export const allowedWithComputed: readonly string[] = ['computed', 'isUnique', 'title', 'description', 'annotations']

export const computed: AttributeProperty = {
  field: 'computed',
  word: 'Computed',
  form: 'computed',
  types: 'scalars, references without an inverse and lists of them, of referenceable classes',
  appliesTo({ spec, isElement, isEmbeddable }) {
    const held = spec.logicalType === 'list' ? spec.element : spec
    const isReference = held.logicalType === 'reference' && held.inverseAttribute === null
    const isLinks = spec.logicalType === 'list' && spec.collectionTypeName === 'TreeListOfReferences'
    return !isElement && !isEmbeddable && !isLinks && (isScalar(held) || isReference)
  },
  define(given) {
    if (!isExpressionInput(given)) throw invalidProperty('computed', 'is an object with an expression')
    const { expression, isStored, ...others } = given as Readonly<Record<string, unknown>>
    const [other] = Object.keys(others)
    if (other !== undefined) throw invalidProperty('computed', `has no field ${other}`)
    const isKept = isStored !== undefined && defineFlag('computed', isStored) === true
    return { ...defineExpression('computed', expression), ...(isKept ? { isStored: true } : {}) }
  },
}
