/** The type object: an embedded object of an embeddable class, stored within its owner. */
import { stringField, wrongField } from './definition-fields.ts'
import type { LogicalType } from './logical-type.ts'
import type { EmbeddedSpec } from './type-spec.ts'

export const object: LogicalType<EmbeddedSpec> = {
  logicalType: 'object',
  fields: ['class'],
  define(definition, context) {
    const name = stringField(definition, 'class')
    if (name === undefined) throw wrongField('class', 'InvalidDefinition', 'is needed for an embedded object')
    const embedded = context.resolveClass(name)
    if (embedded.isReferenceable) {
      throw wrongField('class', 'InvalidDefinition', `names ${embedded.name}, which is referenceable, not embeddable`)
    }
    return { logicalType: 'object', class: embedded.number }
  },
  describe: (spec, context) => ({ logicalType: 'object', class: context.className(spec.class) }),
  codec: (spec, context) => context.embedded(spec.class),
}
