/**
 * Reads of large objects: to check and copy a record of some megabytes takes milliseconds, and as many requests as arrive together would be one
 * long piece of work. So each has a turn of the event loop of its own, after what has just arrived.
 */
import type { Catalog } from '../schema/catalog.ts'
import { laterTurn } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'

/** Bytes of a record that is large. */
const largeBytes = 524_288
const knownMax = 4_096

/** Objects that were seen to be large, the oldest first: of a federated database as long as its schema stays. */
const known = new WeakMap<Catalog, Set<Oid>>()
let isAnyKnown = false

/** Undefined where the object may be read at once. */
export function turnToRead(catalog: Catalog, oid: Oid): Promise<unknown> | undefined {
  return isAnyKnown && known.get(catalog)?.has(oid) === true ? laterTurn() : undefined
}

/** To be called with each long record that is read. */
export function noteLongRecord(catalog: Catalog, oid: Oid, bytes: number): void {
  if (bytes < largeBytes) return
  let ofCatalog = known.get(catalog)
  if (ofCatalog === undefined) {
    ofCatalog = new Set()
    known.set(catalog, ofCatalog)
    isAnyKnown = true
  }
  if (ofCatalog.has(oid)) return
  if (ofCatalog.size === knownMax) ofCatalog.delete(ofCatalog.values().next().value as Oid)
  ofCatalog.add(oid)
}
