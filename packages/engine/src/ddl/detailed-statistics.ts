/** Objects and bytes by class, and the sizes of indexes, for operators. */

import { keySpace, prefixEnd } from '../bytes/key-space.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { indexRange } from '../indexes/index-key.ts'
import { receiptRange } from '../receipts/receipt-entry.ts'
import { listContainers } from '../records/container-registry.ts'
import { containerLinksRange } from '../records/link-keys.ts'
import { containerExtent } from '../records/object-key.ts'
import { shapeNumberOf } from '../records/record-format.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { KeyRange, Snapshot } from '../store/store.ts'

export interface Size {
  readonly entries: number
  /** Of keys and values, excluding the store's overhead. */
  readonly bytes: number
}

export interface ClassSize {
  readonly className: string
  readonly objects: number
  readonly bytes: number
  /** Objects stored in an earlier shape, which are converted on read. */
  readonly objectsOfEarlierShapes: number
  readonly links: Size
}

export interface DetailedStatistics {
  readonly classes: readonly ClassSize[]
  readonly indexes: readonly ({ readonly name: string } & Size)[]
  /** Receipts of requests with idempotency keys. */
  readonly receipts: Size
  /** The catalog, containers and other small entries. */
  readonly other: Size
}

/** Reads everything once, in bounded memory. Throws the signal's reason. */
export async function detailedStatistics(
  snapshot: Snapshot,
  catalog: Catalog,
  signal: CancelSignal | undefined,
): Promise<DetailedStatistics> {
  const classes: ClassSize[] = []
  for (const cls of catalog.classes) {
    if (!cls.isReferenceable) continue
    let [objects, bytes, earlier] = [0, 0, 0]
    let links: Size = { entries: 0, bytes: 0 }
    for (const { database, container } of await listContainers(snapshot, new Set([cls.number]))) {
      const read = (key: Uint8Array, value: Uint8Array): { bytes: number; isEarlier: boolean } => {
        return { bytes: key.length + value.length, isEarlier: shapeNumberOf(value) !== cls.shape.number }
      }
      for await (const batch of snapshot.scan(containerExtent(database, container), read)) {
        signal?.throwIfAborted()
        objects += batch.length
        for (const object of batch) {
          bytes += object.bytes
          if (object.isEarlier) earlier++
        }
      }
      links = sum(links, await sizeOf(snapshot, containerLinksRange(database, container)))
    }
    classes.push({ className: cls.name, objects, bytes, objectsOfEarlierShapes: earlier, links })
  }
  const indexes: ({ name: string } & Size)[] = []
  for (const { name, number } of catalog.indexes) {
    indexes.push({ name, ...(await sizeOf(snapshot, indexRange(number))) })
  }
  let other: Size = { entries: 0, bytes: 0 }
  for (const space of [keySpace.store, keySpace.catalog, keySpace.container, keySpace.sequence]) {
    const from = Buffer.from([space])
    other = sum(other, await sizeOf(snapshot, { from, to: prefixEnd(from) }))
  }
  const receipts = await sizeOf(snapshot, receiptRange)
  return { classes, indexes, receipts, other }
}

async function sizeOf(snapshot: Snapshot, range: KeyRange): Promise<Size> {
  let size: Size = { entries: 0, bytes: 0 }
  for await (const batch of snapshot.scan(range, (key, value) => key.length + value.length)) {
    size = sum(size, { entries: batch.length, bytes: batch.reduce((total, length) => total + length, 0) })
  }
  return size
}

function sum(one: Size, other: Size): Size {
  return { entries: one.entries + other.entries, bytes: one.bytes + other.bytes }
}
