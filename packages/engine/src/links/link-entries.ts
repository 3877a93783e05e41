/** Entries of collections that are kept as links: written and recorded, and the positions of new elements of lists. */
import type { AttributeFormat } from '../records/class-format.ts'
import { linkKind, linkRange, positionKey, positionOfKey, targetKey } from '../records/link-keys.ts'
import type { Bytes, Entry } from '../store/store.ts'
import { inParts } from '../store/time-slice.ts'
import { type Oid, oidBytes } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'

/** For the change log: the element is removed, and its object is not. */
const nothing = Buffer.alloc(0)

/** One side of a link: an object and its attribute. */
export interface RelationshipEnd {
  readonly oid: Oid
  readonly attribute: AttributeFormat
}

/** `position`: of a list. */
export function addEntry(unit: UnitOfWork, owner: RelationshipEnd, target: Oid, position?: Bytes): void {
  const { oid } = owner
  const { number } = owner.attribute.attribute
  if (position === undefined) unit.transaction.put(targetKey(oid, number, target), Buffer.alloc(0))
  else unit.transaction.put(positionKey(oid, number, position), oidBytes(target))
  unit.recorder?.link(oid)
}

export function removeEntry(unit: UnitOfWork, owner: RelationshipEnd, target: Oid, position?: Bytes): void {
  const { oid } = owner
  const { number } = owner.attribute.attribute
  if (position === undefined) unit.transaction.delete(targetKey(oid, number, target), nothing)
  else unit.transaction.delete(positionKey(oid, number, position), oidBytes(target))
  unit.recorder?.link(oid)
}

/** An element of a list or set, as its entry was read. */
export function removeStoredEntry(unit: UnitOfWork, { oid }: RelationshipEnd, { key, value }: Entry): void {
  unit.transaction.delete(key, value)
  unit.recorder?.link(oid)
}

/** Of a map; `entry`: its key and value as they are stored. `before`: the value that it has instead of. */
export function putMapEntry(unit: UnitOfWork, owner: RelationshipEnd, entry: Entry, before: Bytes | undefined): void {
  unit.transaction.put(entry.key, entry.value, before)
  unit.recorder?.link(owner.oid)
}

/** Of a map; `entry`: as it was read. */
export function removeMapEntry(unit: UnitOfWork, owner: RelationshipEnd, entry: Entry): void {
  unit.transaction.delete(entry.key, entry.value)
  unit.recorder?.link(owner.oid)
}

/** Lists whose ends are read in one trip. */
const listsAtOnce = 1_000

/** Reads where the lists end, in one trip, so that `nextPosition` can be asked for them. Those that are known are not read again. */
export async function readListEnds(unit: UnitOfWork, lists: readonly RelationshipEnd[]): Promise<void> {
  const ends = unit.listEnds ?? new Map<string, Bytes | undefined>()
  unit.listEnds = ends
  const missing = lists.filter((list) => !ends.has(nameOf(list)))
  await inParts(missing, listsAtOnce, async (part) => {
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

/** A position after all others of the list, whose end was read before. */
export function nextPosition(unit: UnitOfWork, list: RelationshipEnd): Buffer {
  return unit.session.nextPosition(unit.listEnds?.get(nameOf(list)), Date.now())
}

function nameOf({ oid, attribute }: RelationshipEnd): string {
  return `${oid} ${attribute.attribute.number}`
}
