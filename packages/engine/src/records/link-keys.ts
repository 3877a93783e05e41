/** The keys of link entries. Part of the storage format. */
import { keySpace, prefixEnd } from '../bytes/key-space.ts'
import type { KeyRange } from '../store/store.ts'
import { positionBytes } from '../transaction/store-session.ts'
import { type Oid, oidFromBytes, writeOidBytes } from '../types/oid.ts'
import type { AttributeNumber } from '../types/type-spec.ts'

/**
 * `position`: lists, position → target. `target`: the elements of a set, and for a list whose partner is to-many also the index
 * from target to position. `name`: maps, key → target and full key.
 */
export const linkKind = { position: 0x00, target: 0x01, name: 0x02 } as const

/** The kind that contains each element of a collection exactly once. */
export const kindOfForm = { list: linkKind.position, set: linkKind.target, map: linkKind.name } as const

const oidBytesLength = 8
const attributeOffset = 1 + oidBytesLength
const kindOffset = attributeOffset + 4
export const linkHeaderBytes = kindOffset + 1

function header(owner: Oid, attribute: AttributeNumber, kind: number, extra: number): Buffer {
  const key = Buffer.allocUnsafe(linkHeaderBytes + extra)
  key[0] = keySpace.link
  writeOidBytes(owner, key, 1)
  key.writeUInt32BE(attribute, attributeOffset)
  key[kindOffset] = kind
  return key
}

export function positionKey(owner: Oid, attribute: AttributeNumber, position: Uint8Array): Buffer {
  const key = header(owner, attribute, linkKind.position, positionBytes)
  key.set(position, linkHeaderBytes)
  return key
}

export function targetKey(owner: Oid, attribute: AttributeNumber, target: Oid): Buffer {
  const key = header(owner, attribute, linkKind.target, oidBytesLength)
  writeOidBytes(target, key, linkHeaderBytes)
  return key
}

export function nameKey(owner: Oid, attribute: AttributeNumber, name: Uint8Array): Buffer {
  const key = header(owner, attribute, linkKind.name, name.length)
  key.set(name, linkHeaderBytes)
  return key
}

export function positionOfKey(key: Uint8Array): Buffer {
  return Buffer.from(key.subarray(linkHeaderBytes, linkHeaderBytes + positionBytes))
}

export function targetOfKey(key: Uint8Array): Oid {
  return oidFromBytes(key, linkHeaderBytes)
}

export function ownerOfKey(key: Uint8Array): Oid {
  return oidFromBytes(key, 1)
}

export function attributeOfKey(key: Uint8Array): AttributeNumber {
  return Buffer.from(key.buffer, key.byteOffset, key.length).readUInt32BE(attributeOffset) as AttributeNumber
}

export function kindOfKey(key: Uint8Array): number {
  return key[kindOffset] as number
}

/** The entries of one kind for one attribute of an object: for lists, the elements in order. */
export function linkRange(owner: Oid, attribute: AttributeNumber, kind: number): Required<KeyRange> {
  const from = header(owner, attribute, kind, 0)
  return { from, to: prefixEnd(from) }
}

/** All link entries of the objects in a container. */
export function containerLinksRange(database: number, container: number): { from: Buffer; to: Buffer } {
  const from = Buffer.alloc(5)
  from[0] = keySpace.link
  from.writeUInt16BE(database, 1)
  from.writeUInt16BE(container, 3)
  return { from, to: prefixEnd(from) }
}

/** All link entries of an object. */
export function objectLinksRange(owner: Oid): Required<KeyRange> {
  const from = Buffer.allocUnsafe(attributeOffset)
  from[0] = keySpace.link
  writeOidBytes(owner, from, 1)
  return { from, to: prefixEnd(from) }
}
