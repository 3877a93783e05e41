/** The new value of an attribute kept in the record, from its present one and what a command does to it. */
import { unreachable } from '../errors.ts'
import type { Codec } from '../types/logical-type.ts'
import type { MapPair } from '../types/map.ts'
import type { AttributeChange, ValueChange } from './attribute-change.ts'
import type { AttributeFormat } from './class-format.ts'
import { encodeValue } from './same-value.ts'

export function applyChange({ codec, attribute }: AttributeFormat, current: unknown, change: ValueChange): unknown {
  switch (change.kind) {
    case 'set':
      return change.value
    case 'merge':
      return mergeFields(current as readonly unknown[], change.fields)
    case 'add': {
      const elements = [...(current as readonly unknown[]), ...change.elements]
      // A set has each element once, in order: its codec sees to both.
      return attribute.spec.logicalType === 'set' ? codec.accept(elements) : elements
    }
    case 'remove':
      return withoutElements(codec, current as readonly unknown[], change.elements)
    case 'putPairs':
      return codec.accept([...(current as readonly MapPair[]), ...change.pairs])
    case 'removeKeys': {
      const removed = new Set(change.keys)
      return (current as readonly MapPair[]).filter(({ key }) => !removed.has(key))
    }
    default:
      return unreachable('every change of a value is applied')
  }
}

/** The embedded object `base` with these attributes changed, one after the other. */
export function mergeFields(base: readonly unknown[], fields: readonly AttributeChange[]): readonly unknown[] {
  const values = [...base]
  for (const { attribute, change } of fields) {
    values[attribute.index] = applyChange(attribute, values[attribute.index], change)
  }
  return values
}

/** `codec`: of the collection. Elements are the same where they would be stored the same, and 0 is -0: each is encoded once. */
export function withoutElements(
  codec: Codec,
  elements: readonly unknown[],
  removed: readonly unknown[],
): readonly unknown[] {
  const forms = new Set(removed.map((element) => elementForm(codec, element)))
  return elements.filter((element) => !forms.has(elementForm(codec, element)))
}

function elementForm(codec: Codec, element: unknown): string {
  if (typeof element === 'string') return element
  return encodeValue(codec, [element === 0 ? 0 : element]).toString('latin1')
}
