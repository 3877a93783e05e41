/** References that a statement will follow, known before its rows: where each read is a round trip, objects of many rows are requested together. */
import type { Bound, BoundAttribute } from '../bind/bound.ts'
import { isReferenceOfRecord } from './compile-target.ts'
import type { ObjectReader, ObjectView } from './object-view.ts'

/** A reference in a record, and the references that are followed from its target. */
export interface FollowedReference {
  readonly attribute: BoundAttribute
  readonly next: readonly FollowedReference[]
}

interface Found extends FollowedReference {
  readonly next: Found[]
}

/** Paths that begin with the object in the slot, each once. Other expressions request their objects on evaluation. */
export function followedReferences(expressions: readonly Bound[], slot: number): readonly FollowedReference[] {
  const found: Found[] = []
  for (const expression of expressions) {
    if (expression.kind === 'follow') addPath(expression.object, slot, found)
  }
  return found
}

/** The list for references that follow the object; undefined where it is not reached by references in records alone. */
function addPath(object: Bound, slot: number, found: Found[]): Found[] | undefined {
  if (object.kind !== 'attribute' && object.kind !== 'follow') return undefined
  const { attribute } = object
  if (!isReferenceOfRecord(attribute)) return undefined
  if (object.kind === 'attribute' && object.slot !== slot) return undefined
  const level = object.kind === 'attribute' ? found : addPath(object.object, slot, found)
  if (level === undefined) return undefined
  const existing = level.find((one) => one.attribute.index === attribute.index && one.attribute.cls === attribute.cls)
  if (existing !== undefined) return existing.next
  const added: Found = { attribute, next: [] }
  level.push(added)
  return added.next
}

/** An object, and the references to follow from it. */
export interface FollowedObject {
  readonly view: ObjectView
  readonly references: readonly FollowedReference[]
}

/** Requests the objects that it refers to, and appends to `deferred` the requests to repeat after the fetch. False where nothing is missing. */
export function requestFollowed(
  { view, references }: FollowedObject,
  reader: Pick<ObjectReader, 'request'>,
  deferred: FollowedObject[],
): boolean {
  let isIncomplete = false
  for (const reference of references) {
    const { attribute, next } = reference
    if (view.format?.cls.isOrInherits(attribute.cls.number) !== true) continue
    const at = view.locateReference(attribute.index)
    if (at < 0) continue
    const target = reader.request(view.record, at)
    if (target === undefined) continue
    if (target !== 'requested' && target !== 'requestedBefore') {
      if (next.length > 0)
        isIncomplete = requestFollowed({ view: target, references: next }, reader, deferred) || isIncomplete
      continue
    }
    isIncomplete = true
    // Many rows refer to the same objects: the first to request one follows further. If that was by other references, the row itself fetches the
    // rest.
    if (next.length === 0 || (target === 'requestedBefore' && references.length === 1)) continue
    deferred.push({ view, references: [reference] })
  }
  return isIncomplete
}
