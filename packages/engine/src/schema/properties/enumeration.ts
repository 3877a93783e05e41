/** `enumeration`: the allowed values of an attribute, in display order. */
import { formatForMessage } from '../../types/logical-type.ts'
import { type AttributeProperty, defineValue, invalidProperty, type PropertyTarget } from './attribute-property.ts'

const valuesMax = 1_000
const shownMax = 8

/** A value, or a value and its label. */
type Choice = string | number | { readonly value: string | number; readonly label: string }

export const enumeration: AttributeProperty = {
  field: 'enumeration',
  word: 'Enumeration',
  form: 'choices',
  types: 'strings, integers and characters',
  appliesTo: ({ spec }) => ['string', 'integer', 'character'].includes(spec.logicalType),
  define(given, target) {
    if (!Array.isArray(given) || given.length === 0 || given.length > valuesMax) {
      throw invalidProperty('enumeration', `is an array of 1 to ${valuesMax} values`)
    }
    const choices = given.map((one) => defineChoice(one, target))
    const seen = new Set<unknown>()
    for (const choice of choices) {
      const value = choiceValue(choice)
      if (seen.has(value)) throw invalidProperty('enumeration', `lists ${formatForMessage(value)} twice`)
      seen.add(value)
    }
    return choices
  },
  constraint(stored, { codec }) {
    const choices = (stored as readonly Choice[]).map(choiceValue)
    const values = new Set(choices.map((value) => codec?.parse(value)))
    const shown = choices.slice(0, shownMax).map(formatForMessage).join(', ')
    const more = choices.length > shownMax ? ` and ${choices.length - shownMax} more` : ''
    return {
      name: 'enumeration',
      requirement: `has to be one of ${shown}${more}`,
      isSatisfied: (value) => values.has(value),
    }
  },
  isLooser(before, after) {
    const kept = new Set((after as readonly Choice[]).map(choiceValue))
    return (before as readonly Choice[]).every((choice) => kept.has(choiceValue(choice)))
  },
  mapValues: (stored, map) =>
    (stored as readonly Choice[]).map((choice) => {
      return typeof choice === 'object' ? { ...choice, value: map(choice.value) } : map(choice)
    }),
}

function defineChoice(given: unknown, target: PropertyTarget): Choice {
  if (typeof given !== 'object' || given === null) return defineValue('enumeration', given, target) as Choice
  const { value, label, ...others } = given as Record<string, unknown>
  if (typeof label !== 'string' || value === undefined || Object.keys(others).length > 0) {
    throw invalidProperty('enumeration', `has values, and objects of value and label, not ${formatForMessage(given)}`)
  }
  return { value: defineValue('enumeration', value, target) as string | number, label }
}

function choiceValue(choice: Choice): string | number {
  return typeof choice === 'object' ? choice.value : choice
}
