/** Values of attributes whose type is changing: what is written meanwhile has to fit (contract 5.3). */
import { AshlarError } from '../errors.ts'
import { formatForMessage } from '../types/logical-type.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import type { AttributeFormat, ClassFormat, FormatSource, PendingTypeFormat } from './class-format.ts'
import { encodeValue, isSameValue } from './same-value.ts'
import { visitValues } from './visit-values.ts'

/**
 * What the object held already is let stay: the check of the change finds it, since it was there before. `before`: undefined for a
 * new object, in which the defaults of its types may stay. Throws ValueNotAllowed, naming class, attribute and value.
 */
export function checkPendingTypes(
  format: ClassFormat,
  before: readonly unknown[] | undefined,
  after: readonly unknown[],
  formats: FormatSource,
): void {
  let held: ReadonlyMap<AttributeNumber, ReadonlySet<string>> | undefined
  visitLossyValues(format, after, formats, (owner, attribute, value) => {
    const { codec } = attribute
    const isNew = before === undefined || owner !== format
    if (isNew && !isList(attribute) && isSameValue(codec, value, codec.defaultValue)) return
    if (before !== undefined) held ??= heldLossyValues(format, before, formats)
    if (held?.get(attribute.attribute.number)?.has(textOf(attribute, value)) === true) return
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

/** Each single value, or element of a list, that the type to come does not take without loss. */
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

function heldLossyValues(
  format: ClassFormat,
  values: readonly unknown[],
  formats: FormatSource,
): Map<AttributeNumber, Set<string>> {
  const held = new Map<AttributeNumber, Set<string>>()
  visitLossyValues(format, values, formats, (_owner, attribute, lossyValue) => {
    const { number } = attribute.attribute
    const texts = held.get(number) ?? new Set<string>()
    held.set(number, texts.add(textOf(attribute, lossyValue)))
  })
  return held
}

function isList({ attribute }: AttributeFormat): boolean {
  return attribute.spec.logicalType === 'list'
}

/** Equal for values that are stored alike. */
function textOf(attribute: AttributeFormat, lossyValue: unknown): string {
  return encodeValue(attribute.codec, isList(attribute) ? [lossyValue] : lossyValue).toString('latin1')
}
