/** Changes to-many attributes that are stored as link entries: override, add and remove (contract 4.3, 4.4). */
import { AshlarError, assert } from '../errors.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { linkKind, linkRange, positionOfKey, targetKey, targetOfKey } from '../records/link-keys.ts'
import { revisionPrefixOf } from '../records/record-format.ts'
import { keyText } from '../store/key-text.ts'
import type { Bytes, Entry } from '../store/store.ts'
import { inSlices } from '../store/time-slice.ts'
import type { MapPair } from '../types/map.ts'
import { noOid, type Oid, oidFromBytes } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import type { ObjectState } from '../write/working-set.ts'
import {
  addEntry,
  nextPosition,
  putMapEntry,
  type RelationshipEnd,
  readListEnds,
  removeMapEntry,
  removeStoredEntry,
} from './link-entries.ts'
import { mapEntryKey, mapEntryValue } from './map-entries.ts'
import { addToMany, inverseOf, linkSpecOf, moveToEnd, placeOf, removeFromMany } from './relationships.ts'

interface Collection {
  readonly unit: UnitOfWork
  readonly state: ObjectState
  readonly attribute: AttributeFormat
  readonly owner: RelationshipEnd
  readonly place: ReturnType<typeof placeOf>
}

function collectionOf(unit: UnitOfWork, state: ObjectState, attribute: AttributeFormat): Collection {
  return { unit, state, attribute, owner: { oid: state.oid, attribute }, place: placeOf(state.format, attribute) }
}

/** Changes a list or set of references that is stored as links. Throws InvalidReference. */
export async function changeElements(
  unit: UnitOfWork,
  state: ObjectState,
  attribute: AttributeFormat,
  action: 'override' | 'add' | 'remove',
  elements: readonly Oid[],
): Promise<void> {
  const collection = collectionOf(unit, state, attribute)
  const { owner, place } = collection
  const isPaired = inverseOf(attribute) !== null
  if (isPaired && elements.includes(noOid)) {
    throw new AshlarError(
      'ValueNotAllowed',
      `Attribute ${place.attributeName} of class ${place.className} is bidirectional: its elements are objects, not 0-0-0-0.`,
    )
  }
  switch (action) {
    case 'add':
      return isPaired ? addToMany(unit, owner, elements, place) : addUnpaired(collection, elements)
    case 'remove':
      return isPaired ? removeFromMany(unit, owner, elements) : remove(collection, elements)
    case 'override':
      return isPaired ? overridePaired(collection, elements) : overrideUnpaired(collection, elements)
  }
}

/** Throws InvalidReference. */
export async function putMapEntries(
  unit: UnitOfWork,
  state: ObjectState,
  attribute: AttributeFormat,
  action: 'override' | 'add',
  pairs: readonly MapPair[],
): Promise<void> {
  const { spec } = attribute.attribute
  assert(spec.logicalType === 'map', 'pairs are of a map')
  const collection = collectionOf(unit, state, attribute)
  const { owner, place } = collection
  const entryKeys = await keysFor(pairs, ({ key }) => mapEntryKey(state.oid, attribute, key))
  const isOverride = action === 'override'
  const isNew = state.stored === undefined
  // The entries that an override replaces, or those whose keys an addition names.
  const present = isOverride
    ? await presentEntries(collection, linkKind.name)
    : isNew
      ? []
      : await entriesAt(unit, entryKeys)
  // The present value of a key decides which references are checked.
  await inSlices(present, ({ key, value }) => unit.transaction.requireRevision(key, value))
  const storedTargets = new Map<string, Bytes>()
  await inSlices(present, ({ key, value }) => storedTargets.set(keyText(key), value))
  if (isOverride) {
    const newElements = new Set<string>()
    await inSlices(entryKeys, (key) => newElements.add(keyText(key)))
    await inSlices(present, (entry) => {
      if (!newElements.has(keyText(entry.key))) removeMapEntry(unit, owner, entry)
    })
  }
  unit.requireObject(state.oid)
  // Only changed references are checked and written, so a client can send back a value it read, including dangling references.
  await inSlices(pairs.entries(), async ([i, { key, value }]) => {
    const target = value as Oid
    const entryKey = entryKeys[i] as Buffer
    const text = keyText(entryKey)
    const before = storedTargets.get(text)
    if (before !== undefined && oidFromBytes(before, 0) === target) return
    if (target !== noOid) await unit.checkReference(target, spec.element.referencedClass, place)
    if (spec.key.logicalType === 'reference' && before === undefined) {
      await unit.checkReference(key as Oid, spec.key.referencedClass, place)
    }
    const entry = { key: entryKey, value: mapEntryValue(attribute, key, target) }
    putMapEntry(unit, owner, entry, before)
    storedTargets.set(text, entry.value)
  })
}

async function keysFor<T>(elements: readonly T[], keyOf: (element: T) => Buffer): Promise<Buffer[]> {
  const keys: Buffer[] = []
  await inSlices(elements, (element) => void keys.push(keyOf(element)))
  return keys
}

/** Returns the existing entries, without duplicates. The commit requires them unchanged, and the missing keys absent. */
async function entriesAt(unit: UnitOfWork, keys: readonly Bytes[]): Promise<readonly Entry[]> {
  const seen = new Set<string>()
  const distinct: Bytes[] = []
  await inSlices(keys, (key) => {
    const text = keyText(key)
    if (seen.has(text)) return
    seen.add(text)
    distinct.push(key)
  })
  const values = await unit.transaction.readAndRequire(distinct)
  return distinct.flatMap((key, position) => {
    const value = values[position]
    return value === undefined ? [] : [{ key, value }]
  })
}

/** Removes keys from a map; absent ones are no error. */
export async function removeKeys(
  unit: UnitOfWork,
  state: ObjectState,
  attribute: AttributeFormat,
  keys: readonly unknown[],
): Promise<void> {
  unit.requireObject(state.oid)
  const owner = { oid: state.oid, attribute }
  const entryKeys = await keysFor(keys, (key) => mapEntryKey(state.oid, attribute, key))
  await inSlices(await entriesAt(unit, entryKeys), (entry) => removeMapEntry(unit, owner, entry))
}

/** The present elements, which the commit requires to be unchanged; a new object has none. */
async function presentEntries({ unit, state, attribute }: Collection, kind: number): Promise<readonly Entry[]> {
  if (state.stored === undefined) return []
  unit.transaction.requireRevision(state.key, revisionPrefixOf(state.stored))
  const range = linkRange(state.oid, attribute.attribute.number, kind)
  return unit.transaction.readAndRequireRange(range, state.key)
}

/** `previous`: the targets before, possibly dangling; only references that change are checked. */
async function append(
  { unit, state, attribute, owner, place }: Collection,
  elements: readonly Oid[],
  previous: Pick<Set<Oid>, 'has'>,
): Promise<void> {
  if (elements.length === 0) return
  const { referencedClass } = linkSpecOf(attribute)
  unit.requireObject(state.oid)
  if (attribute.linkStorage === 'list') await readListEnds(unit, [owner])
  await inSlices(elements, async (target) => {
    if (target !== noOid && !previous.has(target)) await unit.checkReference(target, referencedClass, place)
    if (attribute.linkStorage === 'set') addEntry(unit, owner, target)
    else addEntry(unit, owner, target, nextPosition(unit, owner))
  })
}

async function remove(collection: Collection, elements: readonly Oid[]): Promise<void> {
  const { unit, state, attribute, owner } = collection
  unit.requireObject(state.oid)
  if (attribute.linkStorage === 'set') {
    const keys = await keysFor(elements, (target) => targetKey(state.oid, attribute.attribute.number, target))
    return inSlices(await entriesAt(unit, keys), (entry) => removeStoredEntry(unit, owner, entry))
  }
  const removed = new Set(elements)
  await inSlices(await presentEntries(collection, linkKind.position), (entry) => {
    if (removed.has(oidFromBytes(entry.value, 0))) removeStoredEntry(unit, owner, entry)
  })
}

const noTargets = new Set<Oid>()

/** Skips elements that the set already contains. */
async function addUnpaired(collection: Collection, elements: readonly Oid[]): Promise<void> {
  const { unit, state, attribute } = collection
  if (attribute.linkStorage === 'list' || state.stored === undefined) return append(collection, elements, noTargets)
  const keys = await keysFor(elements, (target) => targetKey(state.oid, attribute.attribute.number, target))
  const values = await unit.transaction.readAndRequire(keys)
  const added = elements.filter((_target, position) => values[position] === undefined)
  return append(collection, added, noTargets)
}

/** Keeps the common prefix of the present and new elements and rewrites the rest. */
async function overrideUnpaired(collection: Collection, elements: readonly Oid[]): Promise<void> {
  const { unit, state, attribute, owner } = collection
  if (attribute.linkStorage === 'set') {
    const newElements = new Set(elements)
    const retained = new Set<Oid>()
    await inSlices(await presentEntries(collection, linkKind.target), (entry) => {
      const target = targetOfKey(entry.key)
      if (newElements.has(target)) retained.add(target)
      else removeStoredEntry(unit, owner, entry)
    })
    const added: Oid[] = []
    await inSlices(elements, (target) => {
      if (retained.has(target)) return
      retained.add(target)
      added.push(target)
    })
    return append(collection, added, noTargets)
  }
  const present = await presentEntries(collection, linkKind.position)
  // Must run before the removal: finding the end of a list behind removed entries would scan all of them.
  if (state.stored !== undefined) await readListEnds(unit, [owner])
  const prefixLength = commonPrefix(present, elements)
  await inSlices(present.slice(prefixLength), (entry) => removeStoredEntry(unit, owner, entry))
  const previous = new Set<Oid>()
  await inSlices(present, ({ value }) => previous.add(oidFromBytes(value, 0)))
  return append(collection, elements.slice(prefixLength), previous)
}

async function overridePaired(collection: Collection, elements: readonly Oid[]): Promise<void> {
  const { unit, state, attribute, owner, place } = collection
  const newElements = [...new Set(elements)]
  if (attribute.linkStorage === 'set') {
    const present = (await presentEntries(collection, linkKind.target)).map(({ key }) => targetOfKey(key))
    const requestedSet = new Set(newElements)
    await removeFromMany(
      unit,
      owner,
      present.filter((target) => !requestedSet.has(target)),
    )
    return addToMany(unit, owner, newElements, place)
  }
  const present = await presentEntries(collection, linkKind.position)
  // Must run before the removal, see `overrideUnpaired`.
  if (state.stored !== undefined) await readListEnds(unit, [owner])
  const prefixLength = commonPrefix(present, newElements)
  const following = new Map(
    present.slice(prefixLength).map(({ key, value }) => [oidFromBytes(value, 0), positionOfKey(key)]),
  )
  const rest = newElements.slice(prefixLength)
  const retainedTargets = new Set(rest)
  await removeFromMany(
    unit,
    owner,
    [...following.keys()].filter((target) => !retainedTargets.has(target)),
  )
  await readListEnds(unit, [owner])
  const inverse = inverseOf(attribute)
  if (inverse !== null && unit.linkStorageOf(inverse) === undefined) await unit.objects.loadAll(rest)
  let added: Oid[] = []
  await inSlices(rest, async (target) => {
    const position = following.get(target)
    if (position === undefined) {
      added.push(target)
      return
    }
    await addToMany(unit, owner, added, place)
    added = []
    await moveToEnd(unit, owner, target, position)
  })
  await addToMany(unit, owner, added, place)
}

function commonPrefix(present: readonly Entry[], elements: readonly Oid[]): number {
  let length = 0
  while (length < present.length && length < elements.length) {
    if (oidFromBytes((present[length] as Entry).value, 0) !== elements[length]) break
    length++
  }
  return length
}
