/** `minLength` and `maxLength`: limit the length of strings in code points and of byte strings in bytes. */
import {
  type AttributeProperty,
  type CountRelation,
  defineCount,
  isLooserCount,
  withUnit,
} from './attribute-property.ts'

export const minLength = length('minLength', 'MinLength', 'at least', (value, count) => !isShorterThan(value, count))
export const maxLength = length('maxLength', 'MaxLength', 'at most', (value, count) => isShorterThan(value, count + 1))

function length(
  field: string,
  word: string,
  relation: CountRelation,
  isWithin: (value: string | Uint8Array, count: number) => boolean,
): AttributeProperty {
  return {
    field,
    word,
    form: 'count',
    types: 'strings and bytes',
    appliesTo: ({ spec }) => ['string', 'bytes'].includes(spec.logicalType),
    define: (input) => defineCount(field, input),
    constraint(stored, { spec }) {
      const count = stored as number
      const unit = spec.logicalType === 'string' ? 'character' : 'byte'
      return {
        name: field,
        requirement: `has to have ${relation} ${withUnit(count, unit)}`,
        isSatisfied: (value) => isWithin(value as string | Uint8Array, count),
      }
    },
    isLooser: (before, after) => isLooserCount(relation, before, after),
  }
}

/** Counts code points only if the number of UTF-16 units does not decide. */
function isShorterThan(value: string | Uint8Array, count: number): boolean {
  if (value.length < count) return true
  if (typeof value !== 'string' || value.length >= 2 * count) return false
  let codePoints = 0
  for (let at = 0; at < value.length; at++) {
    if ((value.charCodeAt(at) & 0xfc00) !== 0xdc00 && ++codePoints >= count) return false
  }
  return true
}
