/**
 * Reads of large objects: to check and copy a record of some megabytes takes milliseconds, and as many requests as arrive together would be one
 * long piece of work. So each has a turn of the event loop of its own, after what has just arrived.
 */
import { laterTurn } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'

/** Bytes of a record that is large. */
const largeBytes = 524_288
const knownMax = 4_096

/** Objects that were seen to be large, of whichever federated database; the oldest first. A wrong one costs a turn. */
const known = new Set<Oid>()

/** Undefined where the object may be read at once. */
export function turnToRead(oid: Oid): Promise<unknown> | undefined {
  return known.size > 0 && known.has(oid) ? laterTurn() : undefined
}

/** To be called with each long record that is read. */
export function noteLongRecord(oid: Oid, bytes: number): void {
  if (bytes < largeBytes || known.has(oid)) return
  if (known.size === knownMax) known.delete(known.values().next().value as Oid)
  known.add(oid)
}
