/**
 * Changes types within a transaction: every affected object is checked, and rewritten if necessary, before the commit, which
 * requires all of them as they were read (contract 5.3.9). Their number is limited.
 */

import { catalogVersionKey } from '../bytes/key-space.ts'
import { assert } from '../errors.ts'
import type { EngineLimits } from '../limits.ts'
import { readAndRequireLinkEntries, readAndRequireLinks } from '../links/attribute-links.ts'
import { changeElements } from '../links/collections.ts'
import { removeMapEntry, removeStoredEntry } from '../links/link-entries.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import type { Containers } from '../records/container-registry.ts'
import { targetOfKey } from '../records/link-keys.ts'
import { recordFormats } from '../records/record-formats.ts'
import { readAndRequireObjects, requireAsFound } from '../records/require-objects.ts'
import { mapValues, visitValues } from '../records/visit-values.ts'
import type { TransactionalAlter } from '../schema/alter-plan.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { CatalogState } from '../schema/class-definition.ts'
import { classesHolding, referenceSpecOf } from '../schema/retype.ts'
import type { Retype } from '../schema/retype-attribute.ts'
import { ReadSkew } from '../store/read-skew.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { MapPair } from '../types/map.ts'
import { noOid, type Oid, oidFromBytes } from '../types/oid.ts'
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'
import { flushObjects } from '../write/flush.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { type ObjectState, setValue, touch } from '../write/working-set.ts'
import { type AttributeLoss, AttributeLosses, countLosses } from './count-losses.ts'
import { countUnpairable } from './count-unpairable.ts'

export interface RetypeTransaction {
  readonly transaction: Transaction
  readonly catalog: Catalog
  readonly containers: Containers
  readonly limits: Pick<EngineLimits, 'transactionIndexObjectsMax'>
  /** A unit of work under the present catalog. */
  beginUnit(): UnitOfWork
}

/** Elements that are stored elsewhere under the new type, to be written after the catalog has changed. */
export interface RelocatedElements {
  readonly attribute: AttributeNumber
  readonly oid: Oid
  readonly elements: readonly Oid[]
}

export interface PreparedTypeChanges {
  readonly losses: AttributeLosses
  readonly relocated: readonly RelocatedElements[]
  /** The objects whose attributes change. */
  readonly oids: readonly Oid[]
}

/** Counts losses and collects the elements to be relocated. With `isApplied`, clears references that do not fit. Throws LimitExceeded. */
export async function prepareTypeChanges(
  context: RetypeTransaction,
  plan: TransactionalAlter,
  isApplied: boolean,
): Promise<PreparedTypeChanges> {
  const { transaction, catalog, containers, limits } = context
  const { typeChanges, newChecks, pairings } = plan
  const uncommitted = containers.cached()
  const holding = new Set<ClassNumber>()
  for (const owner of new Set(typeChanges.map((retype) => retype.owner))) {
    for (const { number } of classesHolding(classIn(catalog, owner), catalog.classes)) holding.add(number)
  }
  // Checks also hold for objects that attributes of the same change embed.
  const next = newChecks.length === 0 ? catalog : buildCatalog(plan.next, catalog.version)
  for (const { owner } of newChecks) {
    for (const { number } of classesHolding(classIn(next, owner), next.classes)) holding.add(number)
  }
  const { transactionIndexObjectsMax: objectsMax } = limits
  const oids: Oid[] = []
  const oidOf = (oid: Oid): Oid => oid
  for await (const part of readAndRequireObjects(
    transaction,
    holding,
    uncommitted,
    catalogVersionKey,
    objectsMax,
    oidOf,
  )) {
    for (const oid of part) oids.push(oid)
  }
  const losses = new AttributeLosses()
  losses.addAll(await countConversions(context, plan))
  for (const pairing of pairings) await countUnpairable(transaction.overlay(), catalog, pairing, losses, uncommitted)
  const narrowed = typeChanges.filter(({ work }) => work.kind === 'narrow')
  const moving = typeChanges.filter(({ work }) => work.kind === 'move')
  const unit = context.beginUnit()
  const isLoaded = narrowed.length > 0 || moving.length > 0
  if (isLoaded) await unit.objects.loadAll(oids)
  const states = isLoaded ? oids.map((oid) => stateOf(unit, oid)) : []
  for (const retype of narrowed) {
    const nonConforming = await narrowReferences(context, unit, states, retype, isApplied)
    losses.add(classIn(catalog, retype.owner).name, retype.name, nonConforming)
  }
  const relocated: RelocatedElements[] = []
  for (const retype of moving) {
    const { elements, lost } = await collectElements(context, states, retype, plan.next)
    relocated.push(...elements)
    losses.add(classIn(catalog, retype.owner).name, retype.name, lost)
  }
  if (isApplied && narrowed.length > 0) await flushObjects(unit)
  return { losses, relocated, oids }
}

function classIn(catalog: Catalog, number: ClassNumber): SchemaClass {
  const cls = catalog.classByNumber(number)
  assert(cls !== undefined, 'the class of an attribute that changes is in the catalog')
  return cls
}

/** `unit`: under the catalog with the new attributes. */
export async function writeRelocated(unit: UnitOfWork, relocated: readonly RelocatedElements[]): Promise<void> {
  await unit.objects.loadAll(relocated.map(({ oid }) => oid))
  for (const { oid, attribute, elements } of relocated) {
    const state = unit.objects.loaded(oid)
    if (state === undefined) throw notThere(oid)
    const format = state.format.attribute(attribute)
    touch(state)
    if (format.linkStorage === undefined) setValue(state, format, elements)
    else await changeElements(unit, state, format, 'override', elements)
  }
  await flushObjects(unit)
}

/** The loaded state of an object; the commit requires it as read. */
function stateOf(unit: UnitOfWork, oid: Oid): ObjectState {
  const state = unit.objects.loaded(oid)
  if (state === undefined) throw notThere(oid)
  return state
}

function notThere(oid: Oid): ReadSkew {
  return new ReadSkew(`object ${oid} was found among those of its class, and is not there`)
}

async function countConversions(
  { transaction, catalog, containers }: RetypeTransaction,
  { typeChanges, pending }: TransactionalAlter,
): Promise<AttributeLoss[]> {
  const lossy = typeChanges.filter(({ work }) => work.kind === 'convert' && !work.conversion.isLossless)
  if (lossy.length === 0) return []
  return countLosses(
    transaction.overlay(),
    buildCatalog(pending, catalog.version),
    lossy.map(({ attribute }) => attribute),
    containers.cached(),
  )
}

/** Counts the references to objects outside the new class, and clears them if `isApplied`. */
async function narrowReferences(
  context: RetypeTransaction,
  unit: UnitOfWork,
  states: readonly ObjectState[],
  { attribute: number, to }: Retype,
  isApplied: boolean,
): Promise<number> {
  const referencedClass = referenceSpecOf(to)?.referencedClass
  assert(referencedClass !== undefined, 'references are narrowed')
  const fits = fitting(context, (cls) => cls.isOrInherits(referencedClass))
  const formats = recordFormats(context.catalog)
  let nonConforming = 0
  for (const state of states) {
    const own = state.format.attributes.find(({ attribute }) => attribute.number === number)
    if (own?.linkStorage !== undefined) {
      nonConforming += await narrowLinks(unit, state, own, fits, isApplied)
      continue
    }
    const references: Oid[] = []
    visitValues(state.format, state.values, formats, (_owner, { attribute }, value) => {
      if (attribute.number === number) references.push(...referencesIn(value))
    })
    const isFitting = new Map<Oid, boolean>()
    for (const oid of references) isFitting.set(oid, await fits(oid))
    const lost = references.filter((oid) => isFitting.get(oid) === false)
    nonConforming += lost.length
    if (lost.length === 0 || !isApplied) continue
    const cleared = mapValues(state.format, state.values, formats, ({ attribute }, value) => {
      if (attribute.number !== number) return value
      const fitsClass = (element: unknown): boolean => isFitting.get(referenceIn(element)) !== false
      if (Array.isArray(value)) return value.filter(fitsClass)
      return fitsClass(value) ? value : noOid
    })
    touch(state)
    for (const [index, value] of cleared.entries()) if (value !== state.values[index]) setValue(state, { index }, value)
  }
  return nonConforming
}

async function narrowLinks(
  unit: UnitOfWork,
  state: ObjectState,
  attribute: AttributeFormat,
  fits: (oid: Oid) => Promise<boolean>,
  isApplied: boolean,
): Promise<number> {
  const links = await readAndRequireLinkEntries(unit.transaction, state.oid, attribute)
  const owner = { oid: state.oid, attribute }
  let nonConforming = 0
  for (const entry of links) {
    const target = attribute.linkStorage === 'set' ? targetOfKey(entry.key) : oidFromBytes(entry.value, 0)
    if (await fits(target)) continue
    nonConforming++
    if (!isApplied) continue
    if (attribute.linkStorage === 'map') removeMapEntry(unit, owner, entry)
    else removeStoredEntry(unit, owner, entry)
    touch(state)
  }
  return nonConforming
}

function referencesIn(value: unknown): Oid[] {
  if (value === null) return []
  return Array.isArray(value) ? value.map(referenceIn) : [value as Oid]
}

/** `element`: of a list or set, or a pair of a map, whose value is the reference. */
function referenceIn(element: unknown): Oid {
  return typeof element === 'object' && element !== null ? ((element as MapPair).value as Oid) : (element as Oid)
}

/** Decides by the class of the container, which is known even if the object is deleted; a null reference fits. */
function fitting(
  { transaction, containers, catalog }: RetypeTransaction,
  isAllowed: (cls: SchemaClass) => boolean,
): (oid: Oid) => Promise<boolean> {
  return async (oid) => {
    if (oid === noOid) return true
    const classNumber = await containers.classOf(oid, transaction.snapshot)
    const cls = classNumber === undefined ? undefined : catalog.classByNumber(classNumber)
    return cls === undefined || isAllowed(cls)
  }
}

/**
 * The elements that a list or set keeps in its new place: those that exist and belong to the new class. The commit requires
 * these to exist and the missing ones to be absent.
 */
async function collectElements(
  context: RetypeTransaction,
  states: readonly ObjectState[],
  { attribute: number, becomes, to }: Retype,
  next: CatalogState,
): Promise<{ readonly elements: RelocatedElements[]; readonly lost: number }> {
  const { transaction } = context
  const owners = states.filter(({ format }) => format.attributes.some(({ attribute }) => attribute.number === number))
  const references = new Map<Oid, readonly Oid[]>()
  for (const state of owners) {
    const format = state.format.attribute(number)
    if (format.linkStorage === undefined) references.set(state.oid, referencesIn(state.values[format.index]))
    else {
      const links = await readAndRequireLinks(transaction, state.oid, format)
      references.set(
        state.oid,
        links.map(({ target }) => target),
      )
    }
  }
  const targets = new Set([...references.values()].flat())
  const fittingTargets = await requireAsFound(transaction, targets)
  const referencedClass = referenceSpecOf(to)?.referencedClass
  assert(referencedClass !== undefined, 'the elements of a collection that moves are references')
  const fits = fitting(context, (cls) => cls.isOrInherits(referencedClass))
  for (const target of fittingTargets) if (!(await fits(target))) fittingTargets.delete(target)
  const inverse = referenceSpecOf(to)?.inverseAttribute ?? null
  // A collection with an inverse contains an object once; if the inverse is a single reference, no other collection contains it.
  const isDistinct = to.logicalType === 'set' || inverse !== null
  const linked = inverse !== null && isSingle(next, inverse) ? new Set<Oid>() : undefined
  const elements: RelocatedElements[] = []
  let lost = 0
  for (const [oid, before] of references) {
    const after: Oid[] = []
    const own = new Set<Oid>()
    for (const target of before) {
      const isThere = target === noOid ? !isDistinct : fittingTargets.has(target)
      if (!isThere || (isDistinct && own.has(target)) || linked?.has(target) === true) continue
      after.push(target)
      own.add(target)
    }
    for (const target of own) linked?.add(target)
    lost += before.length - after.length
    if (after.length > 0) elements.push({ attribute: becomes, oid, elements: after })
  }
  return { elements, lost }
}

/** Whether the attribute is not a collection. */
function isSingle({ classes }: CatalogState, attribute: AttributeNumber): boolean {
  return classes.some(({ attributes }) =>
    attributes.some(({ number, spec }) => number === attribute && spec.logicalType === 'reference'),
  )
}
