/** Finds expressions that need only the record of the current object. */
import { isMany, isReference, type ValueType } from '../values/value-type.ts'
import { type Bound, operandsOf } from './bound.ts'

/** Whether the value depends on other objects. */
export function followsReferences(bound: Bound): boolean {
  return !isRecordOnly(bound) || bound.kind === 'self' || operandsOf(bound).some(followsReferences)
}

/** Cached because parts are tested as well as the whole, which would otherwise be repeated from every depth. */
const cache = new WeakMap<Bound, boolean>()

/** Whether only the record of the current object has to be read. */
export function isRecordOnly(bound: Bound): boolean {
  if (operandsOf(bound).length === 0) return computeIsOfRecord(bound)
  let result = cache.get(bound)
  if (result === undefined) {
    result = computeIsOfRecord(bound)
    cache.set(bound, result)
  }
  return result
}

function computeIsOfRecord(bound: Bound): boolean {
  return isRecordOnlyItself(bound) && operandsOf(bound).every(isRecordOnly)
}

/** Whether the expression reads nothing except the record and what its parts read. */
export function isRecordOnlyItself(bound: Bound): boolean {
  switch (bound.kind) {
    case 'follow':
    case 'isValid':
    case 'instanceOf':
    case 'inner':
      return false
    case 'attribute':
      return bound.attribute.linkStorage === undefined
    case 'shape':
      return !isReference(elementOf(bound.object.type))
    case 'each':
    case 'choose':
    case 'quantifier': {
      const element = elementOf(bound.collection.type)
      return !isReference(element) || (bound.kind === 'quantifier' && bound.test.kind === 'equal')
    }
    default:
      return true
  }
}

function elementOf(type: ValueType): ValueType {
  return isMany(type) ? type.element : type
}
