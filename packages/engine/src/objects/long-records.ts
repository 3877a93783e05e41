/**
 * Reads of large objects: to check and copy a record of some megabytes takes milliseconds, and as many requests as arrive together would be one
 * long piece of work, and hold as many copies. So one is read at a time, after what has just arrived; from a store that is elsewhere, a few.
 */
import { largeRecordBytes } from '../limits.ts'
import type { Catalog } from '../schema/catalog.ts'
import { Semaphore } from '../store/semaphore.ts'
import type { Awaitable, Bytes } from '../store/store.ts'
import { laterTurn } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'

const knownMax = 4_096
/** After which the room for copies is let go of. */
const roomKeptMs = 5_000

/** Objects that were seen to be large, the oldest first: of a federated database as long as its schema stays. */
const known = new WeakMap<Catalog, Set<Oid>>()
let isAnyKnown = false

export function isKnownToBeLarge(catalog: Catalog, oid: Oid): boolean {
  return isAnyKnown && known.get(catalog)?.has(oid) === true
}

/** To be called with each long record that is read: whether it is large. */
export function noteLongRecord(catalog: Catalog, oid: Oid, bytes: number): boolean {
  if (bytes < largeRecordBytes) return false
  let ofCatalog = known.get(catalog)
  if (ofCatalog === undefined) {
    ofCatalog = new Set()
    known.set(catalog, ofCatalog)
    isAnyKnown = true
  }
  if (ofCatalog.has(oid)) return true
  if (ofCatalog.size === knownMax) ofCatalog.delete(ofCatalog.values().next().value as Oid)
  ofCatalog.add(oid)
  return true
}

/** Of the read before: the system gives memory page by page, which takes longer than to copy. */
let room: Buffer | undefined
let letGo: NodeJS.Timeout | undefined
let last: Promise<unknown> = Promise.resolve()

/** `read` is called once those before have ended, in a turn of the event loop of its own. What it copies by `copyOf` is there until it has ended. */
export function readAlone<T>(read: (copyOf: (record: Bytes) => Buffer) => Promise<T>): Promise<T> {
  const result = last.then(laterTurn).then(() => read(copyInRoom))
  last = result.then(keepRoom, keepRoom)
  return result
}

/** From a store that is elsewhere, where nobody waits for another's trip: each holds a record, what is copied of it and its text. */
const remoteAtOnce = 4

const fetched = new Semaphore(remoteAtOnce)
const written = new Semaphore(remoteAtOnce)

/** Whole reads of objects that are known to be large, from a store that is elsewhere: a few at a time. */
export function fetchFew<T>(read: () => Awaitable<T>): Promise<T> {
  return fetched.run(read)
}

/** What is done with large records that have come from there, also within such a read: a few at a time. */
export function writeFew<T>(write: () => Awaitable<T>): Promise<T> {
  return written.run(write)
}

function copyInRoom(record: Bytes): Buffer {
  if (room === undefined || room.length < record.length) room = Buffer.allocUnsafeSlow(record.length)
  room.set(record)
  return room.subarray(0, record.length)
}

function keepRoom(): void {
  clearTimeout(letGo)
  letGo = setTimeout(() => {
    room = undefined
  }, roomKeptMs).unref()
}
