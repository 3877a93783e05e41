/** Checks values of attributes whose type is changing: concurrent writes must fit the new type (contract 5.3). */
import { AshlarError } from '../errors.ts'
import { formatForMessage } from '../types/logical-type.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import type { AttributeFormat, ClassFormat, FormatSource, PendingTypeFormat } from './class-format.ts'
import { encodeValue, isSameValue } from './same-value.ts'
import { visitValues } from './visit-values.ts'

/**
 * Values that the object already has are accepted here, since the type change itself checks them. `before`: undefined for a new
 * object, which may keep the defaults of its types. Throws ValueNotAllowed with class, attribute and value.
 */
export function checkPendingTypes(
  format: ClassFormat,
  before: readonly unknown[] | undefined,
  after: readonly unknown[],
  formats: FormatSource,
): void {
  let storedTexts: ReadonlyMap<AttributeNumber, ReadonlySet<string>> | undefined
  visitLossyValues(format, after, formats, (owner, attribute, value) => {
    const { codec } = attribute
    const isNew = before === undefined || owner !== format
    if (isNew && !isList(attribute) && isSameValue(codec, value, codec.defaultValue)) return
    if (before !== undefined) storedTexts ??= storedLossyValues(format, before, formats)
    if (storedTexts?.get(attribute.attribute.number)?.has(textOf(attribute, value)) === true) return
    const { name } = attribute.attribute
    const json = isList(attribute) ? (codec.toJson([value]) as readonly unknown[])[0] : codec.toJson(value)
    throw new AshlarError(
      'ValueNotAllowed',
      `Class ${owner.cls.name}: the type of attribute ${name} is being changed, and ${formatForMessage(json)} would not fit it.`,
      owner === format
        ? [{ place: ['attributes', name], message: 'does not fit the type that the attribute is to have' }]
        : [],
    )
  })
}

/** Visits each value, or element of a list, that cannot be converted to the new type without loss. */
function visitLossyValues(
  format: ClassFormat,
  values: readonly unknown[],
  formats: FormatSource,
  visit: (owner: ClassFormat, attribute: AttributeFormat, lossyValue: unknown) => void,
): void {
  visitValues(format, values, formats, (owner, attribute, value) => {
    const becoming: PendingTypeFormat | undefined = attribute.pendingType
    if (becoming === undefined || becoming.isLossAllowed || value === null) return
    for (const lossyValue of becoming.lossyValues(value)) visit(owner, attribute, lossyValue)
  })
}

function storedLossyValues(
  format: ClassFormat,
  values: readonly unknown[],
  formats: FormatSource,
): Map<AttributeNumber, Set<string>> {
  const textsByAttribute = new Map<AttributeNumber, Set<string>>()
  visitLossyValues(format, values, formats, (_owner, attribute, lossyValue) => {
    const { number } = attribute.attribute
    const texts = textsByAttribute.get(number) ?? new Set<string>()
    textsByAttribute.set(number, texts.add(textOf(attribute, lossyValue)))
  })
  return textsByAttribute
}

function isList({ attribute }: AttributeFormat): boolean {
  return attribute.spec.logicalType === 'list'
}

/** Equal for values with the same stored form. */
function textOf(attribute: AttributeFormat, lossyValue: unknown): string {
  return encodeValue(attribute.codec, isList(attribute) ? [lossyValue] : lossyValue).toString('latin1')
}
