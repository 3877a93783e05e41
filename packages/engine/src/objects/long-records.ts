/**
 * Limits concurrent reads of large objects. Checking and copying a record of several megabytes takes milliseconds, so many
 * concurrent reads would block the event loop and hold as many copies. A local store reads one at a time, after pending events;
 * a remote one, a few.
 */
import { largeRecordBytes } from '../limits.ts'
import type { Catalog } from '../schema/catalog.ts'
import { Semaphore } from '../store/semaphore.ts'
import type { Awaitable, Bytes } from '../store/store.ts'
import { yieldToNewWork } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'

const largeObjectsMax = 4_096
/** The time after which an idle copy buffer is released. */
const roomIdleMs = 5_000

/** Objects known to be large, oldest first, per federated database until its schema changes. */
const largeObjects = new WeakMap<Catalog, Set<Oid>>()
let hasLargeObjects = false

export function isExpectedLarge(catalog: Catalog, oid: Oid): boolean {
  return hasLargeObjects && largeObjects.get(catalog)?.has(oid) === true
}

/** Must be called for each long record that is read. Returns whether it is large. */
export function noteLongRecord(catalog: Catalog, oid: Oid, bytes: number): boolean {
  if (bytes < largeRecordBytes) return false
  let catalogObjects = largeObjects.get(catalog)
  if (catalogObjects === undefined) {
    catalogObjects = new Set()
    largeObjects.set(catalog, catalogObjects)
    hasLargeObjects = true
  }
  if (catalogObjects.has(oid)) return true
  if (catalogObjects.size === largeObjectsMax) catalogObjects.delete(catalogObjects.values().next().value as Oid)
  catalogObjects.add(oid)
  return true
}

/** Reused from the previous read: the system provides memory page by page, which takes longer than copying. */
let room: Buffer | undefined
let releaseTimer: NodeJS.Timeout | undefined
let last: Promise<unknown> = Promise.resolve()

/** Calls `read` after previous reads have ended, in a separate turn of the event loop. Buffers returned by `copyOf` are valid until `read` ends. */
export function readAlone<T>(read: (copyOf: (record: Bytes) => Buffer) => Promise<T>): Promise<T> {
  const result = last.then(yieldToNewWork).then(() => read(copyInRoom))
  last = result.then(keepRoom, keepRoom)
  return result
}

/** For a remote store, where reads overlap their round trips: each holds a record, its copies and its text. */
const remoteReadsMax = 4

const fetched = new Semaphore(remoteReadsMax)
const written = new Semaphore(remoteReadsMax)

/** Limits complete reads of objects known to be large, for a remote store. */
export function fetchFew<T>(read: () => Awaitable<T>): Promise<T> {
  return fetched.run(read)
}

/** Limits the processing of large records from a remote store, also within `fetchFew`. */
export function writeFew<T>(write: () => Awaitable<T>): Promise<T> {
  return written.run(write)
}

function copyInRoom(record: Bytes): Buffer {
  if (room === undefined || room.length < record.length) room = Buffer.allocUnsafeSlow(record.length)
  room.set(record)
  return room.subarray(0, record.length)
}

function keepRoom(): void {
  clearTimeout(releaseTimer)
  releaseTimer = setTimeout(() => {
    room = undefined
  }, roomIdleMs).unref()
}
