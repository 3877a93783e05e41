/**
 * Bidirectional links: a change of one side changes the other in the same commit (contract 4.4). A to-one side is a value in
 * the object's record. A to-many side has one entry per link, so adding a link to an object neither rewrites its record nor
 * conflicts with concurrent additions.
 */
import { assert } from '../errors.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { targetKey } from '../records/link-keys.ts'
import { isPairing } from '../schema/pairing.ts'
import { ReadSkew } from '../store/read-skew.ts'
import { inSlices } from '../store/time-slice.ts'
import { noOid, type Oid } from '../types/oid.ts'
import type { AttributeNumber, ReferenceSpec } from '../types/type-spec.ts'
import type { ReferenceLocation } from '../write/reference-error.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { excuse, type ObjectState, setPosition, setValue } from '../write/working-set.ts'
import { addEntry, nextPosition, type RelationshipEnd, readListEnds, removeEntry } from './link-entries.ts'

export function linkSpecOf(attribute: AttributeFormat): ReferenceSpec {
  const { spec } = attribute.attribute
  const reference = spec.logicalType === 'list' || spec.logicalType === 'set' ? spec.element : spec
  assert(reference.logicalType === 'reference', 'a link attribute holds references')
  return reference
}

export function inverseOf(attribute: AttributeFormat): AttributeNumber | null {
  return linkSpecOf(attribute).inverseAttribute
}

/** Returns the inverse attribute of a partner that was found through a link rather than by its class. Throws ReadSkew. */
export function inverseIn(format: ClassFormat, inverse: AttributeNumber, partner: Oid): AttributeFormat {
  const found = format.find(inverse)
  if (found !== undefined) return found
  throw new ReadSkew(
    `object ${partner} of class ${format.cls.name} is linked by attribute ${inverse}, which it does not have`,
  )
}

export function placeOf(format: ClassFormat, attribute: AttributeFormat): ReferenceLocation {
  return { className: format.cls.name, attributeName: attribute.attribute.name }
}

/** Sets a to-one side, and clears the references of its previous partner and of the new partner's previous partner. */
export async function setReference(
  unit: UnitOfWork,
  state: ObjectState,
  attribute: AttributeFormat,
  target: Oid,
): Promise<void> {
  const old = state.values[attribute.index] as Oid
  // The decision that nothing changes depends on the old value.
  if (old === target) return unit.requireUnchanged(state)
  const inverse = inverseOf(attribute)
  assert(inverse !== null, 'a bidirectional link has an inverse')
  let partner: ClassFormat | undefined
  if (target !== noOid) {
    const { referencedClass } = linkSpecOf(attribute)
    partner = await unit.checkReference(target, referencedClass, placeOf(state.format, attribute))
  }
  if (old !== noOid) await clearReference(unit, state, attribute)
  if (partner === undefined) return
  setValue(state, attribute, target)
  const inverseEnd = { oid: target, attribute: partner.attribute(inverse) }
  if (inverseEnd.attribute.linkStorage === undefined) await stealPartner(unit, state, attribute, inverseEnd)
  else setPosition(state, attribute, await putEntry(unit, inverseEnd, state.oid))
}

export async function clearReference(unit: UnitOfWork, state: ObjectState, attribute: AttributeFormat): Promise<void> {
  const old = state.values[attribute.index] as Oid
  const inverse = inverseOf(attribute)
  if (old === noOid || inverse === null) return
  const position = state.positions[attribute.index]
  setValue(state, attribute, noOid)
  setPosition(state, attribute, undefined)
  const form = unit.linkStorageOf(inverse)
  if (form === undefined) return clearReferenceTo(unit, old, inverse, state.oid)
  const partner = (await unit.formatsOf([old])).get(old)
  if (partner === undefined) return
  if (form === 'list' && position === undefined) {
    // The inverse is still being built and does not contain the object yet.
    if (isPairing(attribute.attribute.becoming)) return
    throw new ReadSkew(`object ${state.oid} refers to ${old}, and not to a place in the list there`)
  }
  const owner = { oid: old, attribute: inverseIn(partner, inverse, old) }
  removeEntry(unit, owner, state.oid, form === 'list' ? position : undefined)
}

/** Clears the partner's to-one side if it refers to `target`; otherwise the commit requires that it does not, or that there is no partner. */
async function clearReferenceTo(unit: UnitOfWork, oid: Oid, attribute: AttributeNumber, target: Oid): Promise<void> {
  const state = await unit.objects.load(oid)
  if (state === undefined) return unit.requireNoObject(oid)
  const format = inverseIn(state.format, attribute, oid)
  if (state.values[format.index] !== target) return unit.requireUnchanged(state)
  setValue(state, format, noOid)
  setPosition(state, format, undefined)
  if (unit.isDeleting) excuse(state, format)
  unit.blame(state)
}

/** Like `clearReferenceTo` for several objects, read in one round trip. */
export async function clearReferencesTo(
  unit: UnitOfWork,
  oids: readonly Oid[],
  attribute: AttributeNumber,
  target: Oid,
): Promise<void> {
  await unit.objects.loadAll(oids)
  await inSlices(oids, (oid) => clearReferenceTo(unit, oid, attribute, target))
}

/** 1–1: detaches the partner from its previous object and points it back (contract 4.4.3). */
async function stealPartner(
  unit: UnitOfWork,
  state: ObjectState,
  attribute: AttributeFormat,
  inverseEnd: RelationshipEnd,
): Promise<void> {
  const partner = await unit.objects.load(inverseEnd.oid)
  if (partner === undefined) throw unit.noSuchObject(inverseEnd.oid, placeOf(state.format, attribute))
  // The object is its own partner through a self-inverse attribute, which is already set.
  if (partner.oid === state.oid && inverseEnd.attribute.index === attribute.index) return
  const previous = partner.values[inverseEnd.attribute.index] as Oid
  if (previous !== noOid && previous !== state.oid) {
    if (unit.guard !== undefined) await unit.guard.admitTaking(previous, placeOf(state.format, attribute))
    await clearReferenceTo(unit, previous, attribute.attribute.number, partner.oid)
  }
  setValue(partner, inverseEnd.attribute, state.oid)
  unit.blame(partner)
}

/** Adds the targets, in order, to a to-many side; targets already present keep their positions. */
export async function addToMany(
  unit: UnitOfWork,
  owner: RelationshipEnd,
  targets: readonly Oid[],
  place: ReferenceLocation,
): Promise<void> {
  const { referencedClass, inverseAttribute } = linkSpecOf(owner.attribute)
  assert(inverseAttribute !== null, 'a bidirectional link has an inverse')
  const sides: RelationshipEnd[] = []
  await inSlices(new Set(targets), async (target) => {
    const format = await unit.checkReference(target, referencedClass, place)
    sides.push({ oid: target, attribute: format.attribute(inverseAttribute) })
  })
  if (sides.length === 0) return
  unit.requireObject(owner.oid)
  await readListEnds(unit, [owner])
  if (sides[0]?.attribute.linkStorage === undefined) await addToOneToMany(unit, owner, sides, place)
  else await addToManyToMany(unit, owner, sides)
}

/** 1–n from its to-many side: each target leaves its previous owner and points to this one. */
async function addToOneToMany(
  unit: UnitOfWork,
  owner: RelationshipEnd,
  targets: readonly RelationshipEnd[],
  place: ReferenceLocation,
): Promise<void> {
  await unit.objects.loadAll(targets.map(({ oid }) => oid))
  await inSlices(targets, async (target) => {
    const state = unit.objects.loaded(target.oid)
    if (state === undefined) throw unit.noSuchObject(target.oid, place)
    const previous = state.values[target.attribute.index] as Oid
    if (previous === owner.oid) return unit.requireUnchanged(state)
    if (unit.guard !== undefined && previous !== noOid) await unit.guard.admitTaking(previous, place)
    await clearReference(unit, state, target.attribute)
    setValue(state, target.attribute, owner.oid)
    setPosition(state, target.attribute, await putEntry(unit, owner, target.oid))
    unit.blame(state)
  })
}

/** n–n: entries on both sides, found by value on both. */
async function addToManyToMany(
  unit: UnitOfWork,
  owner: RelationshipEnd,
  targets: readonly RelationshipEnd[],
): Promise<void> {
  const { number } = owner.attribute.attribute
  const values = await unit.transaction.readAndRequire(targets.map(({ oid }) => targetKey(owner.oid, number, oid)))
  await readListEnds(unit, targets)
  await inSlices(targets.entries(), async ([index, target]) => {
    if (values[index] !== undefined) return
    await putPairedEntry(unit, owner, target.oid)
    // An object linked with itself through a self-inverse attribute has one entry, not two.
    if (target.oid !== owner.oid || target.attribute.attribute.number !== number) {
      await putPairedEntry(unit, target, owner.oid)
    }
  })
}

/** Removes the targets from a to-many side. Absent targets are not an error, and the commit requires them to be absent. */
export async function removeFromMany(unit: UnitOfWork, owner: RelationshipEnd, targets: readonly Oid[]): Promise<void> {
  const { inverseAttribute: inverse, referencedClass } = linkSpecOf(owner.attribute)
  assert(inverse !== null, 'a bidirectional link has an inverse')
  const removed: Oid[] = []
  await inSlices(new Set(targets), async (oid) => {
    // Objects of other classes cannot be elements.
    if ((await unit.classOf(oid))?.isOrInherits(referencedClass) === true) removed.push(oid)
  })
  if (unit.linkStorageOf(inverse) !== undefined) {
    const formats = await unit.formatsOf(removed)
    const sides = [...formats].map(([oid, format]) => ({ oid, attribute: format.attribute(inverse) }))
    return deletePairs(unit, owner, sides)
  }
  await unit.objects.loadAll(removed)
  await inSlices(removed, (oid) => {
    const state = unit.objects.loaded(oid)
    return state === undefined ? unit.requireNoObject(oid) : removeToOne(unit, owner, state, inverse)
  })
}

async function removeToOne(
  unit: UnitOfWork,
  owner: RelationshipEnd,
  state: ObjectState,
  inverse: AttributeNumber,
): Promise<void> {
  const inverseEnd = state.format.attribute(inverse)
  if (state.values[inverseEnd.index] === owner.oid) await clearReference(unit, state, inverseEnd)
  else unit.requireUnchanged(state)
}

async function deletePairs(
  unit: UnitOfWork,
  owner: RelationshipEnd,
  targets: readonly RelationshipEnd[],
): Promise<void> {
  if (targets.length === 0) return
  unit.requireObject(owner.oid)
  const entries = targets.flatMap((target) => [pairedEntry(owner, target.oid), pairedEntry(target, owner.oid)])
  await deletePairedEntries(unit, entries)
}

export interface PairedEntry {
  readonly side: RelationshipEnd
  readonly target: Oid
  readonly key: Buffer
}

export function pairedEntry(side: RelationshipEnd, target: Oid): PairedEntry {
  return { side, target, key: targetKey(side.oid, side.attribute.attribute.number, target) }
}

/** Deletes the entries that exist, as read; the commit requires the rest to be absent. */
export async function deletePairedEntries(unit: UnitOfWork, entries: readonly PairedEntry[]): Promise<void> {
  const { transaction } = unit
  const values = await transaction.readAndRequire(entries.map(({ key }) => key))
  await inSlices(entries.entries(), ([i, { side, target, key }]) => {
    const position = values[i]
    if (position === undefined) return
    const isList = side.attribute.linkStorage === 'list'
    if (isList) transaction.delete(key)
    removeEntry(unit, side, target, isList ? position : undefined)
  })
}

/** Puts the entry of one side whose partner is to-one; returns its position if that side is a list. */
export async function putEntry(unit: UnitOfWork, side: RelationshipEnd, target: Oid): Promise<Buffer | undefined> {
  if (side.attribute.linkStorage === 'set') {
    addEntry(unit, side, target)
    return undefined
  }
  await readListEnds(unit, [side])
  const position = nextPosition(unit, side)
  addEntry(unit, side, target, position)
  return position
}

/** Puts one side's entry of an n–n pair. Required absent by value, or a pair could be linked twice. */
async function putPairedEntry(unit: UnitOfWork, side: RelationshipEnd, target: Oid): Promise<void> {
  const { number } = side.attribute.attribute
  const byTarget = targetKey(side.oid, number, target)
  unit.transaction.requireAbsent(byTarget)
  if (side.attribute.linkStorage === 'set') {
    addEntry(unit, side, target)
    return
  }
  const position = nextPosition(unit, side)
  unit.transaction.put(byTarget, position)
  addEntry(unit, side, target, position)
}

export async function moveToEnd(
  unit: UnitOfWork,
  owner: RelationshipEnd,
  target: Oid,
  position: Buffer,
): Promise<void> {
  const { number } = owner.attribute.attribute
  const inverse = inverseOf(owner.attribute)
  if (inverse === null) return
  const isToOne = unit.linkStorageOf(inverse) === undefined
  const state = isToOne ? await unit.objects.load(target) : undefined
  if (isToOne && state === undefined) return unit.requireNoObject(target)
  const moved = nextPosition(unit, owner)
  removeEntry(unit, owner, target, position)
  addEntry(unit, owner, target, moved)
  if (state !== undefined) {
    setPosition(state, inverseIn(state.format, inverse, target), moved)
  } else {
    const byTarget = targetKey(owner.oid, number, target)
    unit.transaction.requireRevision(byTarget, position)
    unit.transaction.put(byTarget, moved)
  }
}
