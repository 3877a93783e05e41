/** `onTargetDelete` and `onSourceDelete`: the effect of deleting the target or the source of a reference (contract 10.4). */
import { formatForMessage } from '../../types/logical-type.ts'
import { type AttributeProperty, invalidProperty } from './attribute-property.ts'

/** The effect on a referring object when its target is deleted. `keep`, the default, is not stored. */
export type OnTargetDelete = 'clear' | 'restrict' | 'delete'
/** The effect on a referenced object when its source is deleted. `keep`, the default, is not stored. */
export type OnSourceDelete = 'delete' | 'deleteUnreferenced'

export const onTargetDelete = deletionRule('onTargetDelete', 'OnTargetDelete', ['clear', 'restrict', 'delete'])
export const onSourceDelete = deletionRule('onSourceDelete', 'OnSourceDelete', ['delete', 'deleteUnreferenced'])

function deletionRule(
  field: string,
  word: string,
  rules: readonly (OnTargetDelete | OnSourceDelete)[],
): AttributeProperty {
  const words = new Map(['keep', ...rules].map((rule) => [rule.toLowerCase(), rule]))
  return {
    field,
    word,
    form: 'word',
    types: 'references of referenceable classes (for those in a collection, in its elementSpecification)',
    appliesTo: ({ spec, isEmbeddable }) => spec.logicalType === 'reference' && !isEmbeddable,
    define(input) {
      const rule = typeof input === 'string' ? words.get(input.toLowerCase()) : undefined
      if (rule !== undefined) return rule === 'keep' ? undefined : rule
      throw invalidProperty(field, `must be one of ${[...words.values()].join(', ')}, not ${formatForMessage(input)}`)
    },
  }
}
