/** Refuses constraints that no value can satisfy together (contract 10.1.7). */
import { Decimal } from '../../types/decimal-number.ts'
import { formatForMessage } from '../../types/logical-type.ts'
import { type Constraint, invalidProperty, type PropertiesInput, type PropertyTarget } from './attribute-property.ts'
import { type Choice, choiceValue } from './enumeration.ts'

const counts = [
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
] as const
const bounds = ['minimum', 'exclusiveMinimum'].flatMap((lower) => {
  return ['maximum', 'exclusiveMaximum'].map((upper) => [lower, upper] as const)
})

/** `stored`: in the catalog's form. `constraints`: those of `stored`. Null, which satisfies all but isRequired, is not considered. Throws ValueError. */
export function refuseContradictions(
  stored: PropertiesInput,
  target: PropertyTarget,
  constraints: readonly Constraint[],
): void {
  for (const [lower, upper] of counts) {
    const [least, most] = [stored[lower], stored[upper]]
    if (least !== undefined && most !== undefined && (least as number) > (most as number)) {
      throw contradiction(stored, lower, upper)
    }
  }
  for (const [lower, upper] of bounds) {
    const [above, below] = [lower, upper].map((field) => constraints.find(({ name }) => name === field))
    if (above === undefined || below === undefined) continue
    const [least, most] = [lower, upper].map((field) => target.codec?.parse(stored[field]))
    const isOrdered = below.isSatisfied(least) && above.isSatisfied(most)
    const isOpen = lower === 'exclusiveMinimum' && upper === 'exclusiveMaximum'
    if (!isOrdered || (isOpen && areNeighbours(least, most, target))) throw contradiction(stored, lower, upper)
  }
  refuseUnusableChoices(stored.enumeration as readonly Choice[] | undefined, stored, target, constraints)
}

function contradiction(stored: PropertiesInput, lower: string, upper: string): Error {
  const [least, most] = [formatForMessage(stored[lower]), formatForMessage(stored[upper])]
  return invalidProperty(upper, `is ${most} and ${lower} is ${least}: no value satisfies both`)
}

/** Whether no value of the type lies between the two, of which the first is less. */
function areNeighbours(one: unknown, other: unknown, { spec }: PropertyTarget): boolean {
  if (!['integer', 'decimal', 'date'].includes(spec.logicalType)) return false
  return unitsOf(one) + 1n === unitsOf(other)
}

/** Values of the same type are counted in the same units. */
function unitsOf(value: unknown): bigint {
  return value instanceof Decimal ? value.units : BigInt(value as number | bigint)
}

/** Throws if each value of the enumeration violates another constraint. */
function refuseUnusableChoices(
  choices: readonly Choice[] | undefined,
  stored: PropertiesInput,
  { codec }: PropertyTarget,
  constraints: readonly Constraint[],
): void {
  if (choices === undefined) return
  const others = constraints.filter(({ name }) => name !== 'enumeration')
  const isUsable = (choice: Choice): boolean => {
    const value = codec?.parse(choiceValue(choice))
    return others.every((one) => one.isSatisfied(value))
  }
  if (choices.some(isUsable)) return
  const violated = others.filter(({ name }) => name !== 'isRequired')
  const words = violated.map(({ name }) => `${name} ${formatForMessage(stored[name])}`).join(' and ')
  throw invalidProperty('enumeration', `has no value that satisfies ${words}`)
}
