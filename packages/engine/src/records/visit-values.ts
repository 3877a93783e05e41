/** The values of a record, those of embedded objects included. */
import { type AttributeFormat, type ClassFormat, embeddedClassOf, type FormatSource } from './class-format.ts'

/** Each value that is kept in the record, those of embedded objects included. */
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

/** The same for one attribute of `owner`. */
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

/** The values as `map` makes them, embedded objects first: those that it leaves are the very values given. */
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
