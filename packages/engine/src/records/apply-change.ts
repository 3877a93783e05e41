/** Computes the new value of an attribute stored in the record from its present value and a change. */
import { assert, unreachable } from '../errors.ts'
import { runToEnd } from '../store/time-slice.ts'
import type { StepwiseWork } from '../types/logical-type.ts'
import type { MapPair } from '../types/map.ts'
import type { AttributeChange, ValueChange } from './attribute-change.ts'
import type { AttributeFormat, ClassFormat } from './class-format.ts'
import { isComputed, isUnstored } from './computed.ts'
import { unevaluated } from './creation-value.ts'
import { isSameValue } from './same-value.ts'
import { withoutElements } from './without-elements.ts'

/** `applyChange` in pieces: of what is removed from a list, also within an embedded object. */
export function* applyStepwise(format: AttributeFormat, current: unknown, change: ValueChange): StepwiseWork<unknown> {
  if (change.kind === 'remove') return yield* removal(format, current, change.elements)
  if (change.kind !== 'merge') return applyChange(format, current, change)
  const { embedded } = format
  assert(embedded !== undefined, 'fields are of an embedded object')
  const values = [...(current as readonly unknown[])]
  for (const { attribute, change: inner } of change.fields) {
    values[attribute.index] = yield* applyStepwise(attribute, values[attribute.index], inner)
  }
  return withoutSameValues(embedded, current as readonly unknown[], values, change.fields)
}

/** The elements of the present value that are not removed. */
function removal(
  format: AttributeFormat,
  current: unknown,
  removed: readonly unknown[],
): StepwiseWork<readonly unknown[]> {
  return withoutElements(format, (current ?? format.codec.defaultValue) as readonly unknown[], removed)
}

export function applyChange(format: AttributeFormat, current: unknown, change: ValueChange): unknown {
  const { codec, attribute, embedded } = format
  switch (change.kind) {
    case 'set':
      return change.value
    case 'merge':
      assert(embedded !== undefined, 'fields are of an embedded object')
      return mergeFields(embedded, current as readonly unknown[], change.fields)
    case 'add': {
      const elements = [...((current ?? codec.defaultValue) as readonly unknown[]), ...change.elements]
      // The codec of a set removes duplicates and sorts its elements.
      return attribute.spec.logicalType === 'set' ? codec.accept(elements) : elements
    }
    case 'remove':
      return runToEnd(removal(format, current, change.elements))
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

/**
 * Returns the embedded object `base` with the changes applied in order. What is given for an attribute that is computed on each
 * read has no effect if it is the value before or after; any other value stays, and is refused when the object is written.
 */
export function mergeFields(
  format: ClassFormat,
  base: readonly unknown[],
  fields: readonly AttributeChange[],
): readonly unknown[] {
  const values = [...base]
  for (const { attribute, change } of fields) {
    values[attribute.index] = applyChange(attribute, values[attribute.index], change)
  }
  return withoutSameValues(format, base, values, fields)
}

/** Leaves to their expressions the computed attributes whose given value is the one before or after. */
function withoutSameValues(
  format: ClassFormat,
  base: readonly unknown[],
  values: unknown[],
  fields: readonly AttributeChange[],
): readonly unknown[] {
  for (const { attribute } of fields) {
    const { index, codec } = attribute
    const isRead = isComputed(attribute.attribute) && isUnstored(attribute.attribute)
    if (!isRead || values[index] === unevaluated) continue
    const accepted = [format.valueAt(base, index), format.valueIn(values, index)]
    if (accepted.some((value) => isSameValue(codec, values[index], value))) values[index] = unevaluated
  }
  return values
}
