/** `default`: the initial value of an attribute that a creation leaves out, either constant or given by an expression. */

import { canonicalJson, jsonTextOf } from '../../types/json-value.ts'
import { formatForMessage } from '../../types/logical-type.ts'
import type { TypeSpec } from '../../types/type-spec.ts'
import { defineExpression, isExpression, isExpressionInput } from '../expression.ts'
import {
  type AttributeProperty,
  defineValue,
  invalidProperty,
  isScalar,
  type PropertyTarget,
} from './attribute-property.ts'

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
    if (holdsJson(target.spec)) return defineJson(input, target)
    if (!isExpressionInput(input)) return defineValue('default', input, target)
    if (!isScalar(target.spec))
      throw invalidProperty('default', 'may be an expression for scalars only, not for a list')
    return defineExpression('default', input.expression)
  },
  mapValues: (stored, map) => (stored === null || isExpression(stored) ? stored : map(stored)),
}

function holdsJson(spec: TypeSpec): boolean {
  return spec.logicalType === 'json' || (spec.logicalType === 'list' && spec.element.logicalType === 'json')
}

/** Definitions are stored as plain JSON, whose numbers are doubles: a number that would become another one is refused. */
function defineJson(input: unknown, target: PropertyTarget): unknown {
  const stored = defineValue('default', input, target)
  const values = target.spec.logicalType === 'list' ? (input as readonly unknown[]) : [input]
  for (const value of values) {
    const text = jsonTextOf(value)
    if (canonicalJson(text) === canonicalJson(JSON.stringify(JSON.parse(text)))) continue
    throw invalidProperty('default', `has a number that a double cannot hold: ${formatForMessage(text)}`)
  }
  return stored
}
