/**
 * Bidirectional links: whatever changes one side changes the other in the same commit (REST interface, section 4,
 * Relationships). A to-one side is a value in the object's record; a to-many side is a link entry of its own, so that
 * linking to an object neither rewrites it nor conflicts with others who do.
 */
import { assert } from '../errors.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import type { ObjectState } from '../records/working-set.ts'
import { inSlices } from '../store/time-slice.ts'
import { noOid, type Oid, oidBytes } from '../types/oid.ts'
import type { AttributeNumber, ReferenceSpec } from '../types/type-spec.ts'
import { positionKey, targetKey } from './link-keys.ts'
import type { ObjectChanges, ReferencePlace } from './object-changes.ts'

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
  // That there is nothing to change is a conclusion from what it held.
  if (old === target) return changes.expectUnchanged(state)
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
  const form = changes.linkFormOf(inverse)
  if (form === undefined) return letGo(changes, old, inverse, state.oid)
  if ((await changes.formatsOf([old])).size === 0) return
  if (form === 'list') {
    assert(position !== undefined, 'a reference into a list knows its position')
    changes.transaction.delete(positionKey(old, inverse, position))
  } else changes.transaction.delete(targetKey(old, inverse, state.oid))
}

/** Clears a to-one side where it refers to `target`; where it does not, or is not there, it is expected to stay so. */
async function letGo(changes: ObjectChanges, oid: Oid, attribute: AttributeNumber, target: Oid): Promise<void> {
  const state = await changes.objects.load(oid)
  if (state === undefined) return changes.expectNoObject(oid)
  const { index } = state.format.attribute(attribute)
  if (state.values[index] !== target) return changes.expectUnchanged(state)
  state.values[index] = noOid
  state.positions[index] = undefined
  state.isChanged = true
}

/** The same for the to-one sides of several objects, read in one trip. */
export async function letAllGo(
  changes: ObjectChanges,
  oids: readonly Oid[],
  attribute: AttributeNumber,
  target: Oid,
): Promise<void> {
  await changes.objects.loadAll(oids)
  await inSlices(oids, (oid) => letGo(changes, oid, attribute, target))
}

/** 1–1: the partner lets go of whom it has, and points back. */
async function takePartner(
  changes: ObjectChanges,
  state: ObjectState,
  attribute: AttributeFormat,
  far: Side,
): Promise<void> {
  const partner = await changes.objects.load(far.oid)
  if (partner === undefined) throw changes.noSuchObject(far.oid, placeOf(state.format, attribute))
  // Its own partner, through an attribute that is its own inverse: set already.
  if (partner.oid === state.oid && far.attribute.index === attribute.index) return
  const taken = partner.values[far.attribute.index] as Oid
  if (taken !== noOid && taken !== state.oid) await letGo(changes, taken, attribute.attribute.number, partner.oid)
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
  await inSlices(new Set(targets), async (target) => {
    const format = await changes.checkReference(target, referencedClass, place)
    sides.push({ oid: target, attribute: format.attribute(inverseAttribute) })
  })
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
  await inSlices(targets, async (target) => {
    const state = changes.objects.known(target.oid)
    if (state === undefined) throw changes.noSuchObject(target.oid, place)
    if (state.values[target.attribute.index] === owner.oid) return changes.expectUnchanged(state)
    await releaseToOne(changes, state, target.attribute)
    state.values[target.attribute.index] = owner.oid
    state.positions[target.attribute.index] = await putEntry(changes, owner, target.oid)
    state.isChanged = true
  })
}

/** n–n: entries on both sides, found by value on both. */
async function joinAll(changes: ObjectChanges, owner: Side, targets: readonly Side[]): Promise<void> {
  const number = owner.attribute.attribute.number
  const values = await changes.transaction.readAndExpect(targets.map(({ oid }) => targetKey(owner.oid, number, oid)))
  await changes.readListEnds(
    targets.map(({ oid, attribute }) => ({ owner: oid, attribute: attribute.attribute.number })),
  )
  await inSlices(targets.entries(), async ([index, target]) => {
    if (values[index] !== undefined) return
    await putPairedEntry(changes, owner, target.oid)
    // An object linked with itself through an attribute that is its own inverse has one entry, not two.
    if (target.oid !== owner.oid || target.attribute.attribute.number !== number) {
      await putPairedEntry(changes, target, owner.oid)
    }
  })
}

/** Removes the targets from a to-many side; those that are not in it are no error, and expected not to be. */
export async function removeFromMany(changes: ObjectChanges, owner: Side, targets: readonly Oid[]): Promise<void> {
  const { inverseAttribute: inverse, referencedClass } = referenceSpecOf(owner.attribute)
  assert(inverse !== null, 'a bidirectional link has an inverse')
  const removed: Oid[] = []
  await inSlices(new Set(targets), async (oid) => {
    // What is of another class has never been in it.
    if ((await changes.classOf(oid))?.isOrInherits(referencedClass) === true) removed.push(oid)
  })
  if (changes.linkFormOf(inverse) !== undefined) {
    const formats = await changes.formatsOf(removed)
    const sides = [...formats].map(([oid, format]) => ({ oid, attribute: format.attribute(inverse) }))
    return deletePairs(changes, owner, sides)
  }
  await changes.objects.loadAll(removed)
  await inSlices(removed, (oid) => {
    const state = changes.objects.known(oid)
    return state === undefined ? changes.expectNoObject(oid) : removeToOne(changes, owner, state, inverse)
  })
}

async function removeToOne(
  changes: ObjectChanges,
  owner: Side,
  state: ObjectState,
  inverse: AttributeNumber,
): Promise<void> {
  const far = state.format.attribute(inverse)
  if (state.values[far.index] === owner.oid) await releaseToOne(changes, state, far)
  else changes.expectUnchanged(state)
}

async function deletePairs(changes: ObjectChanges, owner: Side, targets: readonly Side[]): Promise<void> {
  if (targets.length === 0) return
  changes.expectObject(owner.oid)
  const entries = targets.flatMap((target) => [pairedEntry(owner, target.oid), pairedEntry(target, owner.oid)])
  await deletePairedEntries(changes, entries)
}

/** One side's entry of an n–n pair, found by value. */
export interface PairedEntry {
  readonly side: Side
  readonly key: Buffer
}

export function pairedEntry(side: Side, target: Oid): PairedEntry {
  return { side, key: targetKey(side.oid, side.attribute.attribute.number, target) }
}

/** Deletes those that there are, under what was read of them; the others are expected not to be there. */
export async function deletePairedEntries(changes: ObjectChanges, entries: readonly PairedEntry[]): Promise<void> {
  const { transaction } = changes
  const values = await transaction.readAndExpect(entries.map(({ key }) => key))
  await inSlices(entries.entries(), ([i, { side, key }]) => {
    const position = values[i]
    if (position === undefined) return
    transaction.delete(key)
    const { linkForm, attribute } = side.attribute
    if (linkForm === 'list') transaction.delete(positionKey(side.oid, attribute.number, position))
  })
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
  if (inverse === null) return
  const isToOne = changes.linkFormOf(inverse) === undefined
  const state = isToOne ? await changes.objects.load(target) : undefined
  if (isToOne && state === undefined) return changes.expectNoObject(target)
  const moved = changes.nextPosition(owner.oid, owner.attribute)
  changes.transaction.delete(positionKey(owner.oid, number, position))
  changes.transaction.put(positionKey(owner.oid, number, moved), oidBytes(target))
  if (state !== undefined) {
    state.positions[state.format.attribute(inverse).index] = moved
    state.isChanged = true
  } else {
    const byTarget = targetKey(owner.oid, number, target)
    changes.transaction.expectRevision(byTarget, position)
    changes.transaction.put(byTarget, moved)
  }
}
