/** Refuses constraints that no value can satisfy together (contract 10.1.7). */
import type { OffsetDateTime } from '../../types/datetime.ts'
import { Decimal } from '../../types/decimal-number.ts'
import { formatForMessage } from '../../types/logical-type.ts'
import type { TypeSpec } from '../../types/type-spec.ts'
import { type Constraint, invalidProperty, type PropertiesInput, type PropertyTarget } from './attribute-property.ts'
import { type Choice, choiceValue } from './enumeration.ts'

const counts = [
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
] as const
const ends = [
  ['exclusiveMaximum', 0, 'least'],
  ['exclusiveMinimum', 1, 'greatest'],
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
  refuseOutsideOfType(stored, target, constraints)
  if (stored.enumeration === undefined || usableChoices(stored, target, constraints) > 0) return
  const violated = constraints.filter(({ name }) => name !== 'enumeration' && name !== 'isRequired')
  const words = violated.map(({ name }) => `${name} ${formatForMessage(stored[name])}`).join(' and ')
  throw invalidProperty('enumeration', `has no value that satisfies ${words}`)
}

/** Throws if a constraint allows no value of the type. */
function refuseOutsideOfType(
  stored: PropertiesInput,
  { spec, codec }: PropertyTarget,
  constraints: readonly Constraint[],
): void {
  const fixedLength = spec.logicalType === 'string' && spec.storage === 'fixed' ? spec.fixedLength : undefined
  if (fixedLength !== undefined && stored.minLength !== undefined && (stored.minLength as number) > fixedLength) {
    throw contradiction({ ...stored, fixedLength }, 'fixedLength', 'minLength')
  }
  for (const [field, end, word] of ends) {
    const last = codec?.range?.[end]
    const bound = constraints.find(({ name }) => name === field)
    if (last === undefined || bound === undefined || bound.isSatisfied(last)) continue
    const [actual, least] = [stored[field], codec?.toJson(last)].map(formatForMessage)
    throw invalidProperty(field, `is ${actual} and the ${word} value of the type is ${least}: no value is left`)
  }
}

/** Throws if a list has to have more different elements than there are. `element`: the stored properties of the elements. */
export function refuseTooFewElements(
  { minItems, uniqueItems }: PropertiesInput,
  element: PropertiesInput,
  target: PropertyTarget,
  constraints: readonly Constraint[],
): void {
  if (minItems === undefined || uniqueItems === undefined) return
  const count =
    element.enumeration === undefined
      ? valuesWithin(element, target)
      : BigInt(usableChoices(element, target, constraints))
  if (count === undefined || count >= (minItems as number)) return
  const words = count === 1n ? 'there is only 1 different element' : `there are only ${count} different elements`
  throw invalidProperty('minItems', `is ${minItems} and uniqueItems is true, but ${words}`)
}

/** The number of values of the type within the bounds; undefined if they cannot be counted. */
function valuesWithin(stored: PropertiesInput, { spec, codec }: PropertyTarget): bigint | undefined {
  if (spec.logicalType === 'bytes' || spec.logicalType === 'string') return shortValues(stored, spec.logicalType)
  if (codec?.range === undefined || !countedTypes.includes(spec.logicalType)) return undefined
  const unitsFrom = (field: string): bigint[] => {
    return stored[field] === undefined ? [] : [unitsOf(codec.parse(stored[field]), spec)]
  }
  let [low, high] = codec.range.map((end) => unitsOf(end, spec)) as [bigint, bigint]
  const lowest = [...unitsFrom('minimum'), ...unitsFrom('exclusiveMinimum').map((units) => units + 1n)]
  const highest = [...unitsFrom('maximum'), ...unitsFrom('exclusiveMaximum').map((units) => units - 1n)]
  for (const units of lowest) if (units > low) low = units
  for (const units of highest) if (units < high) high = units
  return high - low + 1n
}

/** The number of values, of which there are few if they are short; undefined if they are not. */
function shortValues(
  { minLength = 0, maxLength }: PropertiesInput,
  logicalType: 'bytes' | 'string',
): bigint | undefined {
  const longest = logicalType === 'bytes' ? shortBytesMax : 0
  if (maxLength === undefined || (maxLength as number) > longest) return undefined
  let count = 0n
  for (let length = minLength as number; length <= (maxLength as number); length++) count += 256n ** BigInt(length)
  return count
}

/** There are more than four billion values of 4 bytes. */
const shortBytesMax = 3

function contradiction(stored: PropertiesInput, lower: string, upper: string): Error {
  const [least, most] = [formatForMessage(stored[lower]), formatForMessage(stored[upper])]
  return invalidProperty(upper, `is ${most} and ${lower} is ${least}: no value satisfies both`)
}

const countedTypes = ['boolean', 'character', 'integer', 'real', 'decimal', 'date', 'time', 'datetime', 'interval']

/** Whether no value of the type lies between the two, of which the first is less. */
function areNeighbours(one: unknown, other: unknown, { spec }: PropertyTarget): boolean {
  return countedTypes.includes(spec.logicalType) && unitsOf(one, spec) + 1n === unitsOf(other, spec)
}

/** Values of the same type are counted in the same units. */
function unitsOf(value: unknown, spec: TypeSpec): bigint {
  if (spec.logicalType === 'real') return positionOfReal(value as number, spec.storage)
  if (value instanceof Decimal) return value.units
  if (typeof value === 'string') return BigInt(value.codePointAt(0) as number)
  return BigInt(typeof value === 'object' ? (value as OffsetDateTime).ticks : (value as number | bigint | boolean))
}

/** The bits of positive reals count them in ascending order from 0, and those of negative ones, without the sign, in descending order. */
function positionOfReal(value: number, storage: 'b32' | 'b64'): bigint {
  const bytes = new DataView(new ArrayBuffer(8))
  if (storage === 'b64') bytes.setFloat64(0, Math.abs(value))
  else bytes.setFloat32(4, Math.abs(value))
  const position = bytes.getBigUint64(0)
  return value < 0 ? -position : position
}

/** How many values of the enumeration satisfy the other constraints. */
function usableChoices(
  { enumeration }: PropertiesInput,
  { codec }: PropertyTarget,
  constraints: readonly Constraint[],
): number {
  const others = constraints.filter(({ name }) => name !== 'enumeration')
  const isUsable = (choice: Choice): boolean => {
    const value = codec?.parse(choiceValue(choice))
    return others.every((one) => one.isSatisfied(value))
  }
  return (enumeration as readonly Choice[]).filter(isUsable).length
}
