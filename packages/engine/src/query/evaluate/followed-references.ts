/** The objects that a statement follows references to, known before its rows: where each read is a trip, those of many rows are asked for together. */
import type { Bound, BoundAttribute } from '../bind/bound.ts'
import { isReferenceOfRecord } from './compile-target.ts'
import type { ObjectReader, ObjectView } from './object-view.ts'

/** A reference in a record, and those that are followed from the object that it names. */
export interface FollowedReference {
  readonly attribute: BoundAttribute
  readonly next: readonly FollowedReference[]
}

interface Found extends FollowedReference {
  readonly next: Found[]
}

/** Of expressions that are paths and begin with the object in the slot; each once. What else follows references asks for their objects by itself. */
export function followedReferences(expressions: readonly Bound[], slot: number): readonly FollowedReference[] {
  const found: Found[] = []
  for (const expression of expressions) {
    if (expression.kind === 'follow') note(expression.object, slot, found)
  }
  return found
}

/** Where what follows the object is noted; undefined where it is not found by references of records alone. */
function note(object: Bound, slot: number, found: Found[]): Found[] | undefined {
  if (object.kind !== 'attribute' && object.kind !== 'follow') return undefined
  const { attribute } = object
  if (!isReferenceOfRecord(attribute)) return undefined
  if (object.kind === 'attribute' && object.slot !== slot) return undefined
  const level = object.kind === 'attribute' ? found : note(object.object, slot, found)
  if (level === undefined) return undefined
  const known = level.find((one) => one.attribute.index === attribute.index && one.attribute.cls === attribute.cls)
  if (known !== undefined) return known.next
  const fresh: Found = { attribute, next: [] }
  level.push(fresh)
  return fresh.next
}

/** An object, and what of it is followed. */
export interface Following {
  readonly view: ObjectView
  readonly references: readonly FollowedReference[]
}

/**
 * Asks for what the object refers to, as far as that is known, and adds to `behind` what is to be asked again once it is fetched, for what follows.
 * False where nothing is missing.
 */
export function askForFollowed(
  { view, references }: Following,
  reader: Pick<ObjectReader, 'ask'>,
  behind: Following[],
): boolean {
  let isMissing = false
  for (const reference of references) {
    const { attribute, next } = reference
    if (view.format?.cls.isOrInherits(attribute.cls.number) !== true) continue
    const at = view.locateReference(attribute.index)
    if (at < 0) continue
    const target = reader.ask(view.record, at)
    if (target === undefined) continue
    if (target !== 'asked' && target !== 'askedBefore') {
      if (next.length > 0) isMissing = askForFollowed({ view: target, references: next }, reader, behind) || isMissing
      continue
    }
    isMissing = true
    // Many refer to the same few: whoever has asked first follows on. Should that be by other references, the rest is fetched for the row itself.
    if (next.length === 0 || (target === 'askedBefore' && references.length === 1)) continue
    behind.push({ view, references: [reference] })
  }
  return isMissing
}
