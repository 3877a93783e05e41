/** Visits the values of a record, including those of embedded objects. */
import { embeddedClassOf } from './attribute-type.ts'
import type { AttributeFormat, ClassFormat, FormatSource } from './class-format.ts'

/** Visits each value stored in the record, including those of embedded objects. */
export function visitValues(
  format: ClassFormat,
  values: readonly unknown[],
  formats: FormatSource,
  visit: (owner: ClassFormat, attribute: AttributeFormat, value: unknown) => void,
): void {
  for (const attribute of format.attributes) {
    if (attribute.linkStorage === undefined) visitValue(format, attribute, values[attribute.index], formats, visit)
  }
}

/** Like `visitValues`, for one attribute of `owner`. */
export function visitValue(
  owner: ClassFormat,
  attribute: AttributeFormat,
  value: unknown,
  formats: FormatSource,
  visit: (owner: ClassFormat, attribute: AttributeFormat, value: unknown) => void,
): void {
  visit(owner, attribute, value)
  const { spec } = attribute.attribute
  const embedded = embeddedClassOf(spec)
  if (embedded === undefined || value === null) return
  const inner = formats.byNumber(embedded)
  const objects =
    spec.logicalType === 'list' ? (value as readonly (readonly unknown[])[]) : [value as readonly unknown[]]
  for (const object of objects) visitValues(inner, object, formats, visit)
}

/** Maps the values, embedded objects first; unchanged values keep their identity. */
export function mapValues(
  format: ClassFormat,
  values: readonly unknown[],
  formats: FormatSource,
  map: (attribute: AttributeFormat, value: unknown) => unknown,
): unknown[] {
  const mapped = [...values]
  for (const attribute of format.attributes) {
    if (attribute.linkStorage !== undefined) continue
    const { spec } = attribute.attribute
    const value = values[attribute.index]
    const embedded = embeddedClassOf(spec)
    if (embedded === undefined || value === null) {
      mapped[attribute.index] = map(attribute, value)
      continue
    }
    const inner = formats.byNumber(embedded)
    const mapOne = (object: readonly unknown[]): unknown[] => mapValues(inner, object, formats, map)
    mapped[attribute.index] =
      spec.logicalType === 'list'
        ? (value as readonly (readonly unknown[])[]).map(mapOne)
        : mapOne(value as readonly unknown[])
  }
  return mapped
}
