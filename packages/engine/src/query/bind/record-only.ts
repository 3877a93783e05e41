/** Finds expressions that need only the record of the current object. */
import { isMany, isReference, type ValueType } from '../values/value-type.ts'
import { type Bound, partsOf } from './bound.ts'

/** Whether the value depends on other objects. */
export function followsReferences(bound: Bound): boolean {
  return !isRecordOnly(bound) || bound.kind === 'self' || partsOf(bound).some(followsReferences)
}

/** Cached because parts are tested as well as the whole, which would otherwise be repeated from every depth. */
const cache = new WeakMap<Bound, boolean>()

/** Whether only the record of the current object has to be read. */
export function isRecordOnly(bound: Bound): boolean {
  if (partsOf(bound).length === 0) return computeIsOfRecord(bound)
  let result = cache.get(bound)
  if (result === undefined) {
    result = computeIsOfRecord(bound)
    cache.set(bound, result)
  }
  return result
}

function computeIsOfRecord(bound: Bound): boolean {
  switch (bound.kind) {
    case 'follow':
    case 'isValid':
    case 'instanceOf':
    case 'inner':
      return false
    case 'attribute':
      return bound.attribute.linkStorage === undefined
    case 'shape': {
      const element = elementOf(bound.object.type)
      return !isReference(element) && partsOf(bound).every(isRecordOnly)
    }
    case 'each':
    case 'choose':
    case 'quantifier': {
      const element = elementOf(bound.collection.type)
      const isFollowed = isReference(element) && !(bound.kind === 'quantifier' && bound.test.kind === 'equal')
      return !isFollowed && partsOf(bound).every(isRecordOnly)
    }
    default:
      return partsOf(bound).every(isRecordOnly)
  }
}

function elementOf(type: ValueType): ValueType {
  return isMany(type) ? type.element : type
}
