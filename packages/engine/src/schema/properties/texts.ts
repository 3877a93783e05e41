/** `title`, `description`, `annotations`: documentation of an attribute or class for people and tools. */
import { formatForMessage } from '../../types/logical-type.ts'
import { type AttributeProperty, invalidProperty } from './attribute-property.ts'

const charactersMax = 10_000

export const title = text('title', 'Title')
export const description = text('description', 'Description')

export const annotations: AttributeProperty = {
  field: 'annotations',
  word: 'Annotations',
  form: 'texts',
  types: 'attributes',
  appliesTo: ({ isElement }) => !isElement,
  define: (input) => defineAnnotations(input),
}

function text(field: string, word: string): AttributeProperty {
  return {
    field,
    word,
    form: 'text',
    types: 'attributes',
    appliesTo: ({ isElement }) => !isElement,
    define: (input) => defineText(field, input),
  }
}

/** Returns undefined for an empty string. Throws ValueError. */
export function defineText(field: string, input: unknown): string | undefined {
  if (typeof input !== 'string' || input.length > charactersMax) {
    throw invalidProperty(
      field,
      `must be a text of at most ${charactersMax} characters, not ${formatForMessage(input)}`,
    )
  }
  return input === '' ? undefined : input
}

/** Strings by name, in total at most as long as one text. Throws ValueError. */
export function defineAnnotations(input: unknown): Readonly<Record<string, string>> | undefined {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  const entries = isObject ? Object.entries(input) : []
  if (!isObject || entries.some(([, value]) => typeof value !== 'string')) {
    throw invalidProperty('annotations', `must be an object whose values are texts, not ${formatForMessage(input)}`)
  }
  const characters = entries.reduce((sum, [name, value]) => sum + name.length + (value as string).length, 0)
  if (characters > charactersMax)
    throw invalidProperty('annotations', `must have at most ${charactersMax} characters together, not ${characters}`)
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Record<string, string>)
}
