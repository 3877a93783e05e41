/** `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`: bounds of numbers, dates, times and intervals. */
import { KeyWriter } from '../../bytes/key-writer.ts'
import { formatForMessage, type KeyCodec } from '../../types/logical-type.ts'
import { type AttributeProperty, type Constraint, defineValue, type PropertyTarget } from './attribute-property.ts'

const boundedTypes = ['integer', 'real', 'decimal', 'date', 'time', 'datetime', 'interval']

export const minimum = bound('minimum', 'Minimum', 'at least', (order) => order >= 0)
export const maximum = bound('maximum', 'Maximum', 'at most', (order) => order <= 0)
export const exclusiveMinimum = bound('exclusiveMinimum', 'ExclusiveMinimum', 'more than', (order) => order > 0)
export const exclusiveMaximum = bound('exclusiveMaximum', 'ExclusiveMaximum', 'less than', (order) => order < 0)

/** `isWithin`: receives the sign of the comparison of the value with the bound. */
function bound(field: string, word: string, relation: string, isWithin: (order: number) => boolean): AttributeProperty {
  return {
    field,
    word,
    form: 'value',
    types: 'numbers, dates, times and intervals',
    appliesTo: ({ spec }) => boundedTypes.includes(spec.logicalType),
    define: (input, target) => defineValue(field, input, target),
    constraint(stored, target): Constraint {
      const compare = comparison(target.codec?.parse(stored), target)
      return {
        name: field,
        requirement: `has to be ${relation} ${formatForMessage(stored)}`,
        isSatisfied: (value) => isWithin(compare(value)),
      }
    },
    isLooser: (before, after, target) =>
      isWithin(-comparison(target.codec?.parse(before), target)(target.codec?.parse(after))),
    mapValues: (stored, map) => map(stored),
  }
}

/** Compares a value with the bound: numbers as such, other values by the order of their index keys. */
function comparison(bound: unknown, { codec }: PropertyTarget): (value: unknown) => number {
  if (typeof bound === 'number' || typeof bound === 'bigint') {
    return (value) =>
      (value as number) < bound ? -1 : (value as number) > bound ? 1 : (value as number) === bound ? 0 : Number.NaN
  }
  const key = codec?.key as KeyCodec
  const boundKey = keyBytes(key, bound)
  return (value) => keyBytes(key, value).compare(boundKey)
}

function keyBytes(key: KeyCodec, value: unknown): Buffer {
  const writer = new KeyWriter()
  key.write(value, writer)
  return writer.to.copy()
}
