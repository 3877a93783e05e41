/**
 * Changes of types as part of a transaction: everything that they concern is looked at, and changed where it has to be,
 * before the commit (REST interface, section 5). The number of objects is limited; nothing may come in between.
 */

import { catalogVersionKey } from '../bytes/key-space.ts'
import { assert } from '../errors.ts'
import { readAndExpectLinks } from '../links/attribute-links.ts'
import { changeElements } from '../links/collections.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import type { MapPair } from '../records/collection-change.ts'
import type { Container, Containers } from '../records/containers.ts'
import { readAndExpectObjects } from '../records/expect-objects.ts'
import { objectKey } from '../records/object-key.ts'
import { recordFormats } from '../records/record-formats.ts'
import { mapValues, visitValues } from '../records/visit-values.ts'
import type { Retype } from '../schema/alter-class.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import { withPending } from '../schema/pending-retype.ts'
import { classesHolding, referenceSpecOf } from '../schema/retype.ts'
import type { Session } from '../transaction/session.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { noOid, type Oid } from '../types/oid.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import { flushObjects } from '../write/flush.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { type ObjectState, setValue, touch } from '../write/working-set.ts'
import { type AttributeLoss, countLosses, Losses } from './count-losses.ts'

export interface RetypeContext {
  readonly transaction: Transaction
  readonly catalog: Catalog
  readonly containers: Containers
  readonly session: Session
  readonly objectsMax: number
  /** A working set under the catalog as it is. */
  objects(): UnitOfWork
}

/** What is to be written once the catalog is changed. */
export interface MovedElements {
  readonly attribute: AttributeNumber
  readonly oid: Oid
  readonly elements: readonly Oid[]
}

export interface PreparedRetypes {
  readonly losses: readonly AttributeLoss[]
  readonly objects: number
  readonly moved: readonly MovedElements[]
}

/**
 * Finds what would be lost. With `isApplied`, references that do not fit are cleared, and the elements that are to be
 * moved are gathered. Throws LimitExceeded.
 */
export async function prepareRetypes(
  context: RetypeContext,
  cls: SchemaClass,
  retypes: readonly Retype[],
  isApplied: boolean,
): Promise<PreparedRetypes> {
  const { transaction, catalog, containers } = context
  const young = containers.known()
  const holding = new Set(classesHolding(cls, catalog.classes).map(({ number }) => number))
  const { objectsMax } = context
  const oids: Oid[] = []
  const oidOf = (oid: Oid): Oid => oid
  for await (const part of readAndExpectObjects(transaction, holding, young, catalogVersionKey, objectsMax, oidOf)) {
    for (const oid of part) oids.push(oid)
  }
  const losses = new Losses()
  for (const { className, attributeName, values } of await countConversions(context, retypes, young)) {
    losses.add(className, attributeName, values)
  }
  const narrowed = retypes.filter(({ work }) => work.kind === 'narrow')
  const moving = retypes.filter(({ work }) => work.kind === 'move')
  const unit = context.objects()
  const isLoaded = narrowed.length > 0 || moving.length > 0
  if (isLoaded) await unit.objects.loadAll(oids)
  const states = isLoaded ? oids.map((oid) => stateOf(unit, oid)) : []
  for (const retype of narrowed) {
    const misfits = await narrow(context, states, retype, isApplied)
    losses.add(cls.name, retype.name, misfits)
  }
  const moved: MovedElements[] = []
  for (const retype of moving) {
    const { elements, lost } = await gather(context, states, retype)
    moved.push(...elements)
    losses.add(cls.name, retype.name, lost)
  }
  if (isApplied && narrowed.length > 0) await flushObjects(unit)
  return { losses: losses.all(), objects: oids.length, moved }
}

/** Under the catalog that has the new attributes. */
export async function putMoved(unit: UnitOfWork, moved: readonly MovedElements[]): Promise<void> {
  await unit.objects.loadAll(moved.map(({ oid }) => oid))
  for (const { oid, attribute, elements } of moved) {
    const state = unit.objects.known(oid)
    assert(state !== undefined, 'an object whose elements are moved is there')
    const format = state.format.attribute(attribute)
    touch(state)
    if (format.linkForm === undefined) setValue(state, format, elements)
    else await changeElements(unit, state, format, 'override', elements)
  }
  await flushObjects(unit)
}

/** Of an object that is expected to be as it was read. */
function stateOf(unit: UnitOfWork, oid: Oid): ObjectState {
  const state = unit.objects.known(oid)
  assert(state !== undefined, 'an object that was found is there')
  return state
}

/** For counts alone: nothing is built, and so no index is replaced. */
export function catalogWithPending(catalog: Catalog, retypes: readonly Retype[], session: Session): Catalog {
  const changes = { retypes, droppedIndexes: catalog.indexes }
  return buildCatalog(withPending(catalog, changes, false, session.number).state, catalog.version)
}

async function countConversions(
  { transaction, catalog, session }: RetypeContext,
  retypes: readonly Retype[],
  young: readonly Container[],
): Promise<AttributeLoss[]> {
  const lossy = retypes.filter(({ work }) => work.kind === 'convert' && !work.conversion.isLossless)
  if (lossy.length === 0) return []
  const changing = catalogWithPending(catalog, lossy, session)
  return countLosses(
    transaction.overlay(),
    changing,
    lossy.map(({ attribute }) => attribute),
    young,
  )
}

/** Clears the references to objects of other classes, where that is asked for. Returns how many there are. */
async function narrow(
  context: RetypeContext,
  states: readonly ObjectState[],
  { attribute: number, to }: Retype,
  isApplied: boolean,
): Promise<number> {
  const wanted = referenceSpecOf(to)?.referencedClass
  assert(wanted !== undefined, 'references are narrowed')
  const fits = fitting(context, (cls) => cls.isOrInherits(wanted))
  const formats = recordFormats(context.catalog)
  let misfits = 0
  for (const state of states) {
    const own = state.format.attributes.find(({ attribute }) => attribute.number === number)
    if (own?.linkForm !== undefined) {
      misfits += await narrowLinks(context, state, own, fits, isApplied)
      continue
    }
    const held: Oid[] = []
    visitValues(state.format, state.values, formats, (_owner, { attribute }, value) => {
      if (attribute.number === number) held.push(...referencesIn(value))
    })
    const isFitting = new Map<Oid, boolean>()
    for (const oid of held) isFitting.set(oid, await fits(oid))
    const lost = held.filter((oid) => isFitting.get(oid) === false)
    misfits += lost.length
    if (lost.length === 0 || !isApplied) continue
    const cleared = mapValues(state.format, state.values, formats, ({ attribute }, value) => {
      if (attribute.number !== number) return value
      const isKept = (element: unknown): boolean => isFitting.get(referenceIn(element)) !== false
      if (Array.isArray(value)) return value.filter(isKept)
      return isKept(value) ? value : noOid
    })
    touch(state)
    for (const [index, value] of cleared.entries()) if (value !== state.values[index]) setValue(state, { index }, value)
  }
  return misfits
}

async function narrowLinks(
  { transaction }: RetypeContext,
  state: ObjectState,
  attribute: AttributeFormat,
  fits: (oid: Oid) => Promise<boolean>,
  isApplied: boolean,
): Promise<number> {
  const links = await readAndExpectLinks(transaction, state.oid, attribute)
  let misfits = 0
  for (const { key, target } of links) {
    if (await fits(target)) continue
    misfits++
    if (!isApplied) continue
    transaction.delete(key)
    touch(state)
  }
  return misfits
}

function referencesIn(value: unknown): Oid[] {
  if (value === null) return []
  return Array.isArray(value) ? value.map(referenceIn) : [value as Oid]
}

/** An element of a list or set, or the value of a pair of a map. */
function referenceIn(element: unknown): Oid {
  return typeof element === 'object' && element !== null ? ((element as MapPair).value as Oid) : (element as Oid)
}

/** By the class of the container, which is known of objects that are gone too: what refers to nothing fits. */
function fitting(
  { transaction, containers, catalog }: RetypeContext,
  isWanted: (cls: SchemaClass) => boolean,
): (oid: Oid) => Promise<boolean> {
  return async (oid) => {
    if (oid === noOid) return true
    const classNumber = await containers.classOf(oid, transaction.snapshot)
    const cls = classNumber === undefined ? undefined : catalog.classByNumber(classNumber)
    return cls === undefined || isWanted(cls)
  }
}

/**
 * The elements of a list or set that it has in its new place too: those that are there, and of the class that it is to have. What is
 * there, and what is not, is expected to stay so.
 */
async function gather(
  context: RetypeContext,
  states: readonly ObjectState[],
  { attribute: number, becomes, to }: Retype,
): Promise<{ readonly elements: MovedElements[]; readonly lost: number }> {
  const { transaction } = context
  const owners = states.filter(({ format }) => format.attributes.some(({ attribute }) => attribute.number === number))
  const held = new Map<Oid, readonly Oid[]>()
  for (const state of owners) {
    const format = state.format.attribute(number)
    if (format.linkForm === undefined) held.set(state.oid, referencesIn(state.values[format.index]))
    else {
      const links = await readAndExpectLinks(transaction, state.oid, format)
      held.set(
        state.oid,
        links.map(({ target }) => target),
      )
    }
  }
  const targets = new Set([...held.values()].flat())
  const isKept = await existing(transaction, targets)
  const wanted = referenceSpecOf(to)?.referencedClass
  assert(wanted !== undefined, 'the elements of a collection that moves are references')
  const fits = fitting(context, (cls) => cls.isOrInherits(wanted))
  for (const target of isKept) if (!(await fits(target))) isKept.delete(target)
  const isSet = to.logicalType === 'set'
  const elements: MovedElements[] = []
  let lost = 0
  for (const [oid, before] of held) {
    const kept = before.filter((target) => (target === noOid ? !isSet : isKept.has(target)))
    const after = isSet ? [...new Set(kept)] : kept
    lost += before.length - after.length
    if (after.length > 0) elements.push({ attribute: becomes, oid, elements: after })
  }
  return { elements, lost }
}

const keysAtOnce = 1_000

async function existing(transaction: Transaction, oids: ReadonlySet<Oid>): Promise<Set<Oid>> {
  const all = [...oids]
  const found = new Set<Oid>()
  for (let at = 0; at < all.length; at += keysAtOnce) {
    const part = all.slice(at, at + keysAtOnce)
    const keys = part.map(objectKey)
    const { values } = await transaction.read(keys)
    for (const [i, oid] of part.entries()) {
      const key = keys[i] as Buffer
      if (values[i] === undefined) transaction.expectAbsent(key)
      else {
        transaction.expectPresent(key)
        found.add(oid)
      }
    }
  }
  return found
}
