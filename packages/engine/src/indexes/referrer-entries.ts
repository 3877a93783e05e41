/**
 * Entries of referrer indexes, which find the objects that refer to an object by an attribute (decision 0048): one per referring object, or per
 * element of collections stored as links. Part of the storage format.
 */
import { createHash } from 'node:crypto'
import { keySpace, prefixEnd } from '../bytes/key-space.ts'
import { keyDigestBytes } from '../limits.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { linkHeaderBytes } from '../records/link-keys.ts'
import type { ClassAttribute } from '../schema/catalog.ts'
import type { IndexDefinition, IndexNumber } from '../schema/class-definition.ts'
import { maintainedReferrers } from '../schema/referrer-indexes.ts'
import type { Bytes, Entry, KeyRange } from '../store/store.ts'
import { noOid, type Oid, oidBytes, oidFromBytes, writeOidBytes } from '../types/oid.ts'
import { indexKeyHeaderBytes } from './index-key.ts'

const oidLength = 8
/** The marker before the value of a key part, as in every index. */
const valueMarker = 0x01
const targetAt = indexKeyHeaderBytes + 1
const sourceAt = targetAt + oidLength
const elementAt = sourceAt + oidLength

/** `element` distinguishes elements of one collection; empty if an object refers to another at most once. */
function referrerKey(index: IndexNumber, target: Oid, source: Oid, element: Bytes = nothing): Buffer {
  const key = Buffer.allocUnsafe(elementAt + element.length)
  key[0] = keySpace.index
  key.writeUInt32BE(index, 1)
  key[indexKeyHeaderBytes] = valueMarker
  writeOidBytes(target, key, targetAt)
  writeOidBytes(source, key, sourceAt)
  key.set(element, elementAt)
  return key
}

const nothing = Buffer.alloc(0)

export function referrersRange(index: IndexNumber, target: Oid): Required<KeyRange> {
  const from = referrerKey(index, target, noOid).subarray(0, sourceAt)
  return { from, to: prefixEnd(from) }
}

export function targetOfReferrerKey(key: Bytes): Oid {
  return oidFromBytes(key, targetAt)
}

export function sourceOfReferrerKey(key: Bytes): Oid {
  return oidFromBytes(key, sourceAt)
}

/** The key of the corresponding link entry, without its header. */
export function elementOfReferrer(value: Bytes): Bytes {
  return value.subarray(oidLength)
}

/**
 * The referrer entry of a link entry; undefined if the attribute has no referrer index or the target is null. Sets contain each target once;
 * elements of lists are distinguished by position, pairs of maps by a digest of their key.
 */
export function referrerOfLink(
  { attribute, linkStorage }: AttributeFormat,
  owner: Oid,
  target: Oid,
  { key }: Pick<Entry, 'key'>,
): Entry | undefined {
  const index = maintainedReferrers(attribute)
  if (index === undefined || target === noOid) return undefined
  const name = key.subarray(linkHeaderBytes)
  const element = linkStorage === 'set' ? nothing : linkStorage === 'list' ? name : digestOf(name)
  return {
    key: referrerKey(index, target, owner, element),
    value: linkStorage === 'set' ? oidBytes(owner) : Buffer.concat([oidBytes(owner), name]),
  }
}

function digestOf(name: Bytes): Buffer {
  return createHash('sha256').update(name).digest().subarray(0, keyDigestBytes)
}

/** The keys for a list stored in the record, in which objects may occur several times. */
export function referrersOfList(index: IndexNumber, targets: readonly Oid[], source: Oid): Map<Oid, Buffer> {
  const keys = new Map<Oid, Buffer>()
  for (const target of targets) {
    if (target !== noOid && !keys.has(target)) keys.set(target, referrerKey(index, target, source))
  }
  return keys
}

/** Generates the same keys lazily, without those of the targets `except`. */
export function* keysOfList(
  index: IndexNumber,
  targets: readonly Oid[],
  source: Oid,
  except: readonly Oid[] = [],
): Generator<Buffer> {
  const excepted = new Set(except)
  for (const target of new Set(targets)) {
    if (target !== noOid && !excepted.has(target)) yield referrerKey(index, target, source)
  }
}

/** The definition by which the referrer entries of a single reference are maintained, built and verified like other index entries. */
export function referrerDefinition({ attribute }: AttributeFormat): IndexDefinition | undefined {
  const { referrers, spec, name, number: key, declaringClass } = attribute
  const number = maintainedReferrers(attribute)
  if (number === undefined || spec.logicalType !== 'reference') return undefined
  // Classes that inherit the attribute share it.
  let definition = definitions.get(attribute)
  if (definition === undefined) {
    definition = {
      number,
      name: `${declaringClass.name}.${name} (referrers)`,
      indexedClass: declaringClass.number,
      isUnique: false,
      keyAttributes: [{ path: [key] }],
      state: referrers === undefined ? 'building' : 'ready',
    }
    definitions.set(attribute, definition)
  }
  return definition
}

const definitions = new WeakMap<ClassAttribute, IndexDefinition>()

/** The referrer index of a list of references stored in the record. */
export interface ListReferrers {
  readonly attribute: AttributeFormat
  readonly index: IndexNumber
  readonly isBuilding: boolean
}

export function listReferrersOf(attributes: readonly AttributeFormat[]): ListReferrers[] {
  return attributes.flatMap((attribute) => {
    const { referrers, spec } = attribute.attribute
    const index = maintainedReferrers(attribute.attribute)
    const isList = spec.logicalType === 'list' && attribute.linkStorage === undefined
    return index !== undefined && isList ? [{ attribute, index, isBuilding: referrers === undefined }] : []
  })
}
