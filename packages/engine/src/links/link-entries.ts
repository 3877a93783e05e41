/** Writes and records the entries of collections stored as links, and assigns positions to new elements of lists. */
import { referrerOfLink } from '../indexes/referrer-entries.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { linkKind, linkRange, positionKey, positionOfKey, targetKey, targetOfKey } from '../records/link-keys.ts'
import type { AttributeProperties } from '../schema/properties/index.ts'
import type { Bytes, Entry } from '../store/store.ts'
import { inParts } from '../store/time-slice.ts'
import { type Oid, oidBytes, oidFromBytes } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'

/** Marks in the change log that an element was removed while its object still exists. */
const nothing = Buffer.alloc(0)

export interface RelationshipEnd {
  readonly oid: Oid
  readonly attribute: AttributeFormat
}

/** `position`: for lists only. */
export function addEntry(unit: UnitOfWork, owner: RelationshipEnd, target: Oid, position?: Bytes): void {
  const { oid } = owner
  const { number } = owner.attribute.attribute
  const isSet = position === undefined
  const key = isSet ? targetKey(oid, number, target) : positionKey(oid, number, position)
  unit.transaction.put(key, isSet ? Buffer.alloc(0) : oidBytes(target))
  putReferrer(unit, owner, target, key)
  noteChange(unit, owner)
}

export function removeEntry(unit: UnitOfWork, owner: RelationshipEnd, target: Oid, position?: Bytes): void {
  const { oid } = owner
  const { number } = owner.attribute.attribute
  const isSet = position === undefined
  const key = isSet ? targetKey(oid, number, target) : positionKey(oid, number, position)
  unit.transaction.delete(key, isSet ? nothing : oidBytes(target))
  deleteReferrer(unit, owner, target, key)
  noteChange(unit, owner)
}

/** Removes an element of a list or set. The entry is as it was read. */
export function removeStoredEntry(unit: UnitOfWork, owner: RelationshipEnd, { key, value }: Entry): void {
  unit.transaction.delete(key, value)
  const isSet = owner.attribute.linkStorage === 'set'
  deleteReferrer(unit, owner, isSet ? targetOfKey(key) : oidFromBytes(value, 0), key)
  noteChange(unit, owner)
}

/** For maps. `entry`: key and value in stored form. `before`: the value that it replaces. */
export function putMapEntry(unit: UnitOfWork, owner: RelationshipEnd, entry: Entry, before: Bytes | undefined): void {
  unit.transaction.put(entry.key, entry.value, before)
  if (before !== undefined) deleteReferrer(unit, owner, oidFromBytes(before, 0), entry.key)
  putReferrer(unit, owner, oidFromBytes(entry.value, 0), entry.key)
  noteChange(unit, owner)
}

/** For maps. `entry`: as it was read. */
export function removeMapEntry(unit: UnitOfWork, owner: RelationshipEnd, entry: Entry): void {
  unit.transaction.delete(entry.key, entry.value)
  deleteReferrer(unit, owner, oidFromBytes(entry.value, 0), entry.key)
  noteChange(unit, owner)
}

/** Records the change for consumers of changes and for the constraints of the collection, which are checked after its last change. */
function noteChange(unit: UnitOfWork, { oid, attribute }: RelationshipEnd): void {
  unit.recorder?.link(oid)
  const { properties, number } = attribute.attribute
  if (!attribute.isCounted && (properties === undefined || !hasLinkConstraints(properties.own))) return
  unit.changedLinks ??= new Map()
  const { changedLinks, isDeleting, position } = unit
  const name = `${oid} ${number}`
  const recorded = changedLinks.get(name)
  if (recorded === undefined) changedLinks.set(name, { oid, attribute, isAltered: !isDeleting, position })
  else {
    recorded.isAltered ||= !isDeleting
    recorded.position = position
  }
}

function hasLinkConstraints({ isReadOnly, minItems, maxItems, uniqueItems }: AttributeProperties): boolean {
  return isReadOnly !== undefined || minItems !== undefined || maxItems !== undefined || uniqueItems !== undefined
}

/** `key`: of the link entry. */
function putReferrer(unit: UnitOfWork, { oid, attribute }: RelationshipEnd, target: Oid, key: Bytes): void {
  const referrer = referrerOfLink(attribute, oid, target, { key })
  if (referrer !== undefined) unit.transaction.put(referrer.key, referrer.value)
}

/** Also used when the link entry is deleted with its object, which records nothing. */
export function deleteReferrer(unit: UnitOfWork, { oid, attribute }: RelationshipEnd, target: Oid, key: Bytes): void {
  const referrer = referrerOfLink(attribute, oid, target, { key })
  if (referrer !== undefined) unit.transaction.delete(referrer.key)
}

const listsPerRead = 1_000

/** Reads the ends of lists in one round trip, as `nextPosition` requires. Skips ends already read. */
export async function readListEnds(unit: UnitOfWork, lists: readonly RelationshipEnd[]): Promise<void> {
  const ends = unit.listEnds ?? new Map<string, Bytes | undefined>()
  unit.listEnds = ends
  const missing = lists.filter((list) => !ends.has(nameOf(list)))
  await inParts(missing, listsPerRead, async (part) => {
    const ranges = part.map(({ oid, attribute }) => {
      return { ...linkRange(oid, attribute.attribute.number, linkKind.position), reverse: true, limit: 1 }
    })
    const answer = await unit.transaction.read([], ranges)
    for (const [index, list] of part.entries()) {
      const last = answer.ranges[index]?.[0]
      ends.set(nameOf(list), last === undefined ? undefined : positionOfKey(last.key))
    }
  })
}

/** Returns a position after all elements of the list, whose end must have been read. */
export function nextPosition(unit: UnitOfWork, list: RelationshipEnd): Buffer {
  return unit.session.nextPosition(unit.listEnds?.get(nameOf(list)), Date.now())
}

function nameOf({ oid, attribute }: RelationshipEnd): string {
  return `${oid} ${attribute.attribute.number}`
}
