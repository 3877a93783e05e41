/** The properties of classes: reads them from definitions and shows them (contract 10.2). */
import type { AttributeNumber } from '../../types/type-spec.ts'
import { defineFlag, invalidProperty, type PropertiesInput, type PropertyForm } from './attribute-property.ts'
import { type Check, defineChecks } from './checks.ts'
import { defineAnnotations, defineText } from './texts.ts'

/** The properties of a class as stored in the catalog. */
export interface ClassProperties {
  readonly isAbstract?: true
  readonly checks?: readonly Check[]
  /** The attribute, own or inherited, whose value represents an object in user interfaces. */
  readonly displayAttribute?: AttributeNumber
  readonly title?: string
  readonly description?: string
  readonly annotations?: Readonly<Record<string, string>>
}

export interface ClassPropertyField {
  readonly field: keyof ClassProperties
  /** Case-insensitive, in the braces of CREATE CLASS … WITH. Checks are declared among the attributes instead. */
  readonly word: string
  readonly form: PropertyForm
}

/** In the order of representations. */
export const classPropertyDescriptions: readonly ClassPropertyField[] = [
  { field: 'isAbstract', word: 'Abstract', form: 'flag' },
  { field: 'checks', word: 'Checks', form: 'checks' },
  { field: 'displayAttribute', word: 'DisplayAttribute', form: 'word' },
  { field: 'title', word: 'Title', form: 'text' },
  { field: 'description', word: 'Description', form: 'text' },
  { field: 'annotations', word: 'Annotations', form: 'texts' },
]

/** `findAttribute`: finds an attribute of the class by name. Returns undefined if no property is given. Throws ValueError. */
export function defineClassProperties(
  input: PropertiesInput,
  findAttribute: (name: string) => AttributeNumber | undefined,
): ClassProperties | undefined {
  const defined: Record<string, unknown> = {}
  for (const { field } of classPropertyDescriptions) {
    const value = input[field]
    if (value === undefined || value === null) continue
    const stored = defineField(field, value, findAttribute)
    if (stored !== undefined) defined[field] = stored
  }
  return Object.keys(defined).length === 0 ? undefined : defined
}

function defineField(
  field: keyof ClassProperties,
  value: unknown,
  findAttribute: (name: string) => AttributeNumber | undefined,
): unknown {
  switch (field) {
    case 'isAbstract':
      return defineFlag(field, value)
    case 'displayAttribute': {
      const number = typeof value === 'string' ? findAttribute(value) : undefined
      if (number === undefined) throw invalidProperty(field, 'is an attribute of the class')
      return number
    }
    case 'checks':
      return defineChecks(value)
    case 'annotations':
      return defineAnnotations(value)
    default:
      return defineText(field, value)
  }
}
