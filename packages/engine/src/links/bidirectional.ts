/**
 * Bidirectional links: whatever changes one side changes the other in the same commit (REST interface, section 4,
 * Relationships). A to-one side is a value in the object's record; a to-many side is a link entry of its own, so that
 * linking to an object neither rewrites it nor conflicts with others who do.
 */
import { assert } from '../errors.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import type { ObjectState } from '../records/working-set.ts'
import { noOid, type Oid, oidBytes } from '../types/oid.ts'
import type { AttributeNumber, ReferenceSpec } from '../types/type-spec.ts'
import { positionKey, targetKey } from './link-keys.ts'
import { noSuchObject, type ObjectChanges, type ReferencePlace } from './object-changes.ts'

/** One side of a pair: an object and its attribute. */
export interface Side {
  readonly oid: Oid
  readonly attribute: AttributeFormat
}

export function referenceSpecOf(attribute: AttributeFormat): ReferenceSpec {
  const { spec } = attribute.attribute
  const reference = spec.logicalType === 'list' || spec.logicalType === 'set' ? spec.element : spec
  assert(reference.logicalType === 'reference', 'a link attribute holds references')
  return reference
}

export function inverseOf(attribute: AttributeFormat): AttributeNumber | null {
  return referenceSpecOf(attribute).inverseAttribute
}

export function placeOf(format: ClassFormat, attribute: AttributeFormat): ReferencePlace {
  return { className: format.cls.name, attributeName: attribute.attribute.name }
}

/** Sets a to-one side, letting go of the partner it had, and of the partner's partner where that is to-one too. */
export async function setToOne(
  changes: ObjectChanges,
  state: ObjectState,
  attribute: AttributeFormat,
  target: Oid,
): Promise<void> {
  const old = state.values[attribute.index] as Oid
  if (old === target) return
  const inverse = inverseOf(attribute)
  assert(inverse !== null, 'a bidirectional link has an inverse')
  let partner: ClassFormat | undefined
  if (target !== noOid) {
    const { referencedClass } = referenceSpecOf(attribute)
    partner = await changes.checkReference(target, referencedClass, placeOf(state.format, attribute))
  }
  if (old !== noOid) await releaseToOne(changes, state, attribute)
  if (partner === undefined) return
  state.values[attribute.index] = target
  state.isChanged = true
  const far = { oid: target, attribute: partner.attribute(inverse) }
  if (far.attribute.linkForm === undefined) await takePartner(changes, state, attribute, far)
  else state.positions[attribute.index] = await putEntry(changes, far, state.oid)
}

/** Clears a to-one side and what its partner holds of it. */
export async function releaseToOne(
  changes: ObjectChanges,
  state: ObjectState,
  attribute: AttributeFormat,
): Promise<void> {
  const old = state.values[attribute.index] as Oid
  const inverse = inverseOf(attribute)
  if (old === noOid || inverse === null) return
  const position = state.positions[attribute.index]
  state.values[attribute.index] = noOid
  state.positions[attribute.index] = undefined
  state.isChanged = true
  const partner = await changes.objects.load(old)
  if (partner === undefined) return
  const far = partner.format.attribute(inverse)
  if (far.linkForm !== undefined) changes.expectObject(old)
  if (far.linkForm === 'list') {
    assert(position !== undefined, 'a reference into a list knows its position')
    changes.transaction.delete(positionKey(old, inverse, position))
  } else if (far.linkForm === 'set') {
    changes.transaction.delete(targetKey(old, inverse, state.oid))
  } else if (partner.values[far.index] === state.oid) {
    partner.values[far.index] = noOid
    partner.isChanged = true
  }
}

/** 1–1: the partner lets go of whom it has, and points back. */
async function takePartner(
  changes: ObjectChanges,
  state: ObjectState,
  attribute: AttributeFormat,
  far: Side,
): Promise<void> {
  const partner = await changes.objects.load(far.oid)
  if (partner === undefined) throw noSuchObject(far.oid, placeOf(state.format, attribute))
  // Its own partner, through an attribute that is its own inverse: set already.
  if (partner.oid === state.oid && far.attribute.index === attribute.index) return
  const taken = partner.values[far.attribute.index] as Oid
  if (taken !== noOid && taken !== state.oid) {
    const former = await changes.objects.load(taken)
    if (former !== undefined) {
      former.values[former.format.attribute(attribute.attribute.number).index] = noOid
      former.isChanged = true
    }
  }
  partner.values[far.attribute.index] = state.oid
  partner.isChanged = true
}

/** Adds the targets, in order, to a to-many side; those that are in it already stay where they are. */
export async function addToMany(
  changes: ObjectChanges,
  owner: Side,
  targets: readonly Oid[],
  place: ReferencePlace,
): Promise<void> {
  const { referencedClass, inverseAttribute } = referenceSpecOf(owner.attribute)
  assert(inverseAttribute !== null, 'a bidirectional link has an inverse')
  const sides: Side[] = []
  for (const target of new Set(targets)) {
    const format = await changes.checkReference(target, referencedClass, place)
    sides.push({ oid: target, attribute: format.attribute(inverseAttribute) })
  }
  if (sides.length === 0) return
  changes.expectObject(owner.oid)
  await changes.readListEnds([{ owner: owner.oid, attribute: owner.attribute.attribute.number }])
  if (sides[0]?.attribute.linkForm === undefined) await adoptAll(changes, owner, sides, place)
  else await joinAll(changes, owner, sides)
}

/** 1–n from its to-many side: each target leaves its previous owner and points to this one. */
async function adoptAll(
  changes: ObjectChanges,
  owner: Side,
  targets: readonly Side[],
  place: ReferencePlace,
): Promise<void> {
  await changes.objects.loadAll(targets.map(({ oid }) => oid))
  for (const target of targets) {
    const state = changes.objects.known(target.oid)
    if (state === undefined) throw noSuchObject(target.oid, place)
    if (state.values[target.attribute.index] === owner.oid) continue
    await releaseToOne(changes, state, target.attribute)
    state.values[target.attribute.index] = owner.oid
    state.positions[target.attribute.index] = await putEntry(changes, owner, target.oid)
    state.isChanged = true
  }
}

/** n–n: entries on both sides, found by value on both. */
async function joinAll(changes: ObjectChanges, owner: Side, targets: readonly Side[]): Promise<void> {
  const number = owner.attribute.attribute.number
  const { values } = await changes.transaction.read(targets.map(({ oid }) => targetKey(owner.oid, number, oid)))
  await changes.readListEnds(
    targets.map(({ oid, attribute }) => ({ owner: oid, attribute: attribute.attribute.number })),
  )
  for (const [index, target] of targets.entries()) {
    if (values[index] !== undefined) continue
    await putPairedEntry(changes, owner, target.oid)
    // An object linked with itself through an attribute that is its own inverse has one entry, not two.
    if (target.oid !== owner.oid || target.attribute.attribute.number !== number) {
      await putPairedEntry(changes, target, owner.oid)
    }
  }
}

/** Removes the targets from a to-many side; those that are not in it are no error. */
export async function removeFromMany(changes: ObjectChanges, owner: Side, targets: readonly Oid[]): Promise<void> {
  const { inverseAttribute: inverse, referencedClass } = referenceSpecOf(owner.attribute)
  assert(inverse !== null, 'a bidirectional link has an inverse')
  await changes.objects.loadAll(targets)
  for (const target of new Set(targets)) {
    const state = changes.objects.known(target)
    if (state === undefined || !state.format.cls.isOrInherits(referencedClass)) continue
    const far = state.format.attribute(inverse)
    if (far.linkForm !== undefined) {
      await deletePair(changes, owner, { oid: target, attribute: far })
    } else if (state.values[far.index] === owner.oid) {
      await releaseToOne(changes, state, far)
    }
  }
}

async function deletePair(changes: ObjectChanges, one: Side, other: Side): Promise<void> {
  const sides = [
    { side: one, partner: other.oid },
    { side: other, partner: one.oid },
  ]
  const keys = sides.map(({ side, partner }) => targetKey(side.oid, side.attribute.attribute.number, partner))
  const { values } = await changes.transaction.read(keys)
  for (const [index, { side }] of sides.entries()) {
    const key = keys[index] as Buffer
    const position = values[index]
    if (position === undefined) continue
    changes.transaction.expectRevision(key, position)
    changes.transaction.delete(key)
    if (side.attribute.linkForm === 'list') {
      changes.transaction.delete(positionKey(side.oid, side.attribute.attribute.number, position))
    }
  }
}

/** Puts the entry of one side whose partner is to-one; returns its position where that side is a list. */
async function putEntry(changes: ObjectChanges, side: Side, target: Oid): Promise<Buffer | undefined> {
  const { number } = side.attribute.attribute
  if (side.attribute.linkForm === 'set') {
    changes.transaction.put(targetKey(side.oid, number, target), Buffer.alloc(0))
    return undefined
  }
  await changes.readListEnds([{ owner: side.oid, attribute: number }])
  const position = changes.nextPosition(side.oid, side.attribute)
  changes.transaction.put(positionKey(side.oid, number, position), oidBytes(target))
  return position
}

/** Puts the entries of one side of an n–n pair. Expected absent by value: else a pair could be linked twice. */
async function putPairedEntry(changes: ObjectChanges, side: Side, target: Oid): Promise<void> {
  const { number } = side.attribute.attribute
  const byTarget = targetKey(side.oid, number, target)
  changes.transaction.expectAbsent(byTarget)
  if (side.attribute.linkForm === 'set') {
    changes.transaction.put(byTarget, Buffer.alloc(0))
    return
  }
  const position = changes.nextPosition(side.oid, side.attribute)
  changes.transaction.put(byTarget, position)
  changes.transaction.put(positionKey(side.oid, number, position), oidBytes(target))
}

/** Gives a target of a list a new position, at the end. */
export async function moveToEnd(changes: ObjectChanges, owner: Side, target: Oid, position: Buffer): Promise<void> {
  const { number } = owner.attribute.attribute
  const inverse = inverseOf(owner.attribute)
  const state = await changes.objects.load(target)
  if (state === undefined || inverse === null) return
  const moved = changes.nextPosition(owner.oid, owner.attribute)
  changes.transaction.delete(positionKey(owner.oid, number, position))
  changes.transaction.put(positionKey(owner.oid, number, moved), oidBytes(target))
  const far = state.format.attribute(inverse)
  if (far.linkForm === undefined) {
    state.positions[far.index] = moved
    state.isChanged = true
  } else {
    const byTarget = targetKey(owner.oid, number, target)
    changes.transaction.expectRevision(byTarget, position)
    changes.transaction.put(byTarget, moved)
  }
}
