/** The values of attributes that a creation leaves out (contract 10.2, 10.6). */
import type { Attribute } from '../schema/class-definition.ts'
import { isDefaultExpression, sequencesDrawn } from '../schema/expression.ts'
import { creationDefault } from '../schema/properties/index.ts'
import type { Codec } from '../types/logical-type.ts'

interface DefaultedAttribute {
  readonly attribute: Pick<Attribute, 'spec' | 'properties'>
  readonly codec: Codec
}

/**
 * Stands for a value that an expression gives (contract 10.6): a default until the object is written, and a computed attribute
 * that is not stored.
 */
export const unevaluated = undefined

/** The value of an attribute that a creation leaves out. */
export function creationValue({ attribute, codec }: DefaultedAttribute): unknown {
  const { spec, properties } = attribute
  if (isDefaultExpression(properties?.own.default, spec) || properties?.own.computed !== undefined) return unevaluated
  return valueOfJson(codec, creationDefault(spec, properties))
}

/** The default of the type if `json` is undefined. */
export function valueOfJson(codec: Codec, json: unknown): unknown {
  if (json === undefined) return codec.defaultValue
  return json === null ? null : codec.parse(json)
}

/** Whether its default draws numbers from sequences. */
export function drawsNumbers({ attribute: { spec, properties } }: Pick<DefaultedAttribute, 'attribute'>): boolean {
  const value = properties?.own.default
  return isDefaultExpression(value, spec) && sequencesDrawn(value).length > 0
}
