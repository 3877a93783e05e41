/** Ranges of keys of which a caller sees everything: they are read as they are stored. */
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

/** Space, database and container. */
const containerPrefixBytes = 5
/** Space and number. */
const indexPrefixBytes = 5

export function isWholeRange({ from, to }: KeyRange, screen: Screen): Awaitable<boolean> {
  if (from === undefined || to === undefined) return false
  switch (from[0]) {
    case keySpace.object:
      return areWithin(from, to, containerPrefixBytes) && isWholeContainer(from, screen)
    case keySpace.link:
      return areWithin(from, to, linkHeaderBytes) && isWholeLink(from, screen)
    case keySpace.index:
      return areWithin(from, to, indexPrefixBytes) && isWholeIndex(readUint32(from, 1) as IndexNumber, screen.access)
    default:
      return false
  }
}

/** Whether all keys of the range begin with the same bytes. */
function areWithin(from: Bytes, to: Bytes, length: number): boolean {
  if (from.length < length) return false
  const prefix = from.subarray(0, length)
  if (to.length >= length && Buffer.compare(to.subarray(0, length), prefix) === 0) return true
  // The open end of the range of all keys with that prefix.
  const end = Buffer.from(prefix)
  for (let at = length - 1; at >= 0; at--) {
    end[at] = ((end[at] as number) + 1) & 0xff
    if (end[at] !== 0) return Buffer.compare(end.subarray(0, at + 1), to) === 0
  }
  return false
}

/** Its objects are all seen, and none names one that is not. */
function isWholeContainer(from: Bytes, { access, visibility }: Screen): Awaitable<boolean> {
  const key = Buffer.alloc(1 + oidLength)
  key.set(from.subarray(0, containerPrefixBytes))
  return mapAwaitable(visibility.classIn(oidFromBytes(key, 1)), (number) => {
    return number !== undefined && access.ofClass(number)?.isWhole === true
  })
}

/** Of an object that is seen, with targets that are all seen. */
function isWholeLink(from: Bytes, { access, visibility }: Screen): Awaitable<boolean> {
  const spec = access.catalog.attribute(attributeOfKey(from))?.spec
  if (spec === undefined) return false
  if (referencesOf(spec).some(({ referencedClass }) => access.classes.mayNameHidden(referencedClass))) return false
  const owner = ownerOfKey(from)
  return mapAwaitable(visibility.refusedAmong(new Map([[owner, undefined]])), (hidden) => !hidden.has(owner))
}

function isWholeIndex(number: IndexNumber, { catalog, classes }: CatalogAccess): boolean {
  const index = catalog.indexByNumber(number)
  const cls = index && catalog.classByNumber(index.indexedClass)
  if (cls === undefined || isRootClass(cls)) return false
  return [cls, ...cls.subclasses].every((each) => classes.objects(each, 'read') === 'all')
}
