/** `pattern`: a regular expression that must match part of the string, with the semantics of `=~`. */
import { formatForMessage } from '../../types/logical-type.ts'
import { compileRegularExpression, type RegularExpression } from '../../types/regular-expression.ts'
import { type AttributeProperty, invalidProperty } from './attribute-property.ts'

export const pattern: AttributeProperty = {
  field: 'pattern',
  word: 'Pattern',
  form: 'text',
  types: 'strings',
  appliesTo: ({ spec }) => spec.logicalType === 'string',
  define(input) {
    if (typeof input !== 'string')
      throw invalidProperty('pattern', `must be a regular expression, not ${formatForMessage(input)}`)
    const compiled = compileRegularExpression(input, false)
    if (typeof compiled === 'string')
      throw invalidProperty('pattern', `must be a regular expression, not ${formatForMessage(input)}: ${compiled}`)
    return input
  },
  constraint(stored) {
    // Compiling it takes longer than all else about an attribute, and definitions need it only for a default or an enumeration.
    let expression: RegularExpression | undefined
    return {
      name: 'pattern',
      requirement: `has to match ${formatForMessage(stored)}`,
      isSatisfied: (value) => {
        expression ??= compileRegularExpression(stored as string, false) as RegularExpression
        return expression.isIn(value as string)
      },
    }
  },
}
