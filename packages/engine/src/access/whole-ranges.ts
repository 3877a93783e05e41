/** Key ranges of which a caller sees all entries as stored, so that they need no filtering. */
import { keySpace } from '../bytes/key-space.ts'
import { readUint32 } from '../bytes/read-number.ts'
import { attributeOfKey, linkHeaderBytes, ownerOfKey } from '../records/link-keys.ts'
import type { IndexNumber } from '../schema/class-definition.ts'
import { isRootClass } from '../schema/root-class.ts'
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable, Bytes, KeyRange } from '../store/store.ts'
import { oidFromBytes, oidLength } from '../types/oid.ts'
import type { CatalogAccess } from './catalog-access.ts'
import { referencesOf } from './class-access.ts'
import type { Visibility } from './visibility.ts'

interface Screen {
  readonly access: CatalogAccess
  readonly visibility: Visibility
}

/** Key space, database and container. */
const containerPrefixBytes = 5
/** Key space and index number. */
const indexPrefixBytes = 5

export function isFullyVisibleRange({ from, to }: KeyRange, screen: Screen): Awaitable<boolean> {
  if (from === undefined || to === undefined) return false
  switch (from[0]) {
    case keySpace.object:
      return areWithin(from, to, containerPrefixBytes) && isVisibleContainer(from, screen)
    case keySpace.link:
      return areWithin(from, to, linkHeaderBytes) && isVisibleLink(from, screen)
    case keySpace.index:
      return areWithin(from, to, indexPrefixBytes) && isVisibleIndex(readUint32(from, 1) as IndexNumber, screen.access)
    default:
      return false
  }
}

/** Whether all keys of the range begin with the same bytes. */
function areWithin(from: Bytes, to: Bytes, length: number): boolean {
  if (from.length < length) return false
  const prefix = from.subarray(0, length)
  if (to.length >= length && Buffer.compare(to.subarray(0, length), prefix) === 0) return true
  // The exclusive end of the range of all keys with that prefix.
  const end = Buffer.from(prefix)
  for (let at = length - 1; at >= 0; at--) {
    end[at] = ((end[at] as number) + 1) & 0xff
    if (end[at] !== 0) return Buffer.compare(end.subarray(0, at + 1), to) === 0
  }
  return false
}

/** All of its objects are visible, and none refers to a hidden one. */
function isVisibleContainer(from: Bytes, { access, visibility }: Screen): Awaitable<boolean> {
  const key = Buffer.alloc(1 + oidLength)
  key.set(from.subarray(0, containerPrefixBytes))
  return mapAwaitable(visibility.classIn(oidFromBytes(key, 1)), (number) => {
    return number !== undefined && access.forClass(number)?.isFullyVisible === true
  })
}

/** The owner is visible, and all possible targets are. */
function isVisibleLink(from: Bytes, { access, visibility }: Screen): Awaitable<boolean> {
  const spec = access.catalog.attribute(attributeOfKey(from))?.spec
  if (spec === undefined) return false
  if (referencesOf(spec).some(({ referencedClass }) => access.classes.mayNameHidden(referencedClass))) return false
  const owner = ownerOfKey(from)
  return mapAwaitable(visibility.refusedAmong(new Map([[owner, undefined]])), (hidden) => !hidden.has(owner))
}

function isVisibleIndex(number: IndexNumber, { catalog, classes }: CatalogAccess): boolean {
  const index = catalog.indexByNumber(number)
  const cls = index && catalog.classByNumber(index.indexedClass)
  if (cls === undefined || isRootClass(cls)) return false
  return [cls, ...cls.subclasses].every((each) => classes.objects(each, 'read') === 'all')
}
