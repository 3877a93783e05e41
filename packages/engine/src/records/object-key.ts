/** The keys of records and containers. Part of the storage format. */
import { keySpace } from '../bytes/key-space.ts'
import type { Bytes } from '../store/store.ts'
import { type Oid, oidFromBytes, oidLength, writeOidBytes } from '../types/oid.ts'

/** The key space byte. */
export const objectKeyHeaderBytes = 1
export const objectKeyBytes = objectKeyHeaderBytes + oidLength

/** Key of an object's record: space, OID. */
export function objectKey(oid: Oid): Buffer {
  const key = Buffer.allocUnsafe(objectKeyBytes)
  key[0] = keySpace.object
  writeOidBytes(oid, key, objectKeyHeaderBytes)
  return key
}

export function oidOfObjectKey(key: Bytes): Oid {
  return oidFromBytes(key, 1)
}

/** Key of a container's row: space, database, container. */
export function containerKey(database: number, container: number): Buffer {
  const key = Buffer.allocUnsafe(5)
  key[0] = keySpace.container
  key.writeUInt16BE(database, 1)
  key.writeUInt16BE(container, 3)
  return key
}

/** Key of the row with the next container to assign; sorts before all containers. */
export const nextContainerKey = Buffer.from([keySpace.container])

/** The range of all records of a container. */
export function containerExtent(database: number, container: number): { from: Buffer; to: Buffer } {
  const from = Buffer.allocUnsafe(5)
  from[0] = keySpace.object
  from.writeUInt16BE(database, 1)
  from.writeUInt16BE(container, 3)
  const to = Buffer.from(from)
  to.writeUInt32BE(from.readUInt32BE(1) + 1, 1)
  return { from, to }
}

/** The smallest key after the object. */
export function keyAfter(oid: Oid): Buffer {
  return Buffer.concat([objectKey(oid), Buffer.from([0])])
}
