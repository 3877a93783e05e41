/** `enumeration`: the allowed values of an attribute, in display order. */
import { formatForMessage } from '../../types/logical-type.ts'
import { type AttributeProperty, defineValue, invalidProperty, type PropertyTarget } from './attribute-property.ts'

const valuesMax = 1_000
const listedMax = 8

/** A value, or a value and its label. */
export type Choice = string | number | { readonly value: string | number; readonly label: string }

export const enumeration: AttributeProperty = {
  field: 'enumeration',
  word: 'Enumeration',
  form: 'choices',
  types: 'strings, integers and characters',
  appliesTo: ({ spec }) => ['string', 'integer', 'character'].includes(spec.logicalType),
  define(input, target) {
    if (!Array.isArray(input) || input.length === 0 || input.length > valuesMax) {
      throw invalidProperty(
        'enumeration',
        `must be an array of 1 to ${valuesMax} values, not ${formatForMessage(input)}`,
      )
    }
    const choices = input.map((one) => defineChoice(one, target))
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
    const listed = choices.slice(0, listedMax).map(formatForMessage).join(', ')
    const more = choices.length > listedMax ? ` and ${choices.length - listedMax} more` : ''
    return {
      name: 'enumeration',
      requirement: `has to be one of ${listed}${more}`,
      isSatisfied: (value) => values.has(value),
    }
  },
  isLooser(before, after) {
    const allowed = new Set((after as readonly Choice[]).map(choiceValue))
    return (before as readonly Choice[]).every((choice) => allowed.has(choiceValue(choice)))
  },
  mapValues: (stored, map) =>
    (stored as readonly Choice[]).map((choice) => {
      return typeof choice === 'object' ? { ...choice, value: map(choice.value) } : map(choice)
    }),
}

function defineChoice(input: unknown, target: PropertyTarget): Choice {
  if (typeof input !== 'object' || input === null) return defineValue('enumeration', input, target) as Choice
  const { value, label, ...others } = input as Record<string, unknown>
  if (typeof label !== 'string' || value === undefined || Object.keys(others).length > 0) {
    throw invalidProperty(
      'enumeration',
      `may contain values and objects such as {"value": …, "label": "…"}, not ${formatForMessage(input)}`,
    )
  }
  return { value: defineValue('enumeration', value, target) as string | number, label }
}

export function choiceValue(choice: Choice): string | number {
  return typeof choice === 'object' ? choice.value : choice
}
