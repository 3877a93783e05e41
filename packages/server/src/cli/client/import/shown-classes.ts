/** Shows the classes that an import creates. */
import type { AttributeDefinition, ClassDescription } from '@ashlar/client'

/** Lines for people. */
export function shownClasses(made: readonly ClassDescription[]): string[] {
  if (made.length === 0) return ['The class exists, and is not changed.']
  return made.flatMap((one) => [
    `The class ${one.className} would be created:`,
    ...one.attributes.map((attribute) => `  ${shownDefinition(attribute)}`),
  ])
}

export function shownDefinition({
  attributeName,
  logicalType,
  encoding,
  storage,
  elementSpecification: element,
}: AttributeDefinition): string {
  const type = element === undefined ? logicalType : `${logicalType} of ${element.logicalType}`
  return [attributeName, type, encoding, storage].filter((word) => word !== undefined).join(' ')
}
