/** Scans all objects of some classes in batches, as of one snapshot. */

import type { Snapshot } from '../store/store.ts'
import type { Oid } from '../types/oid.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { ClassFormat } from './class-format.ts'
import { type Container, listContainers } from './container-registry.ts'
import { containerExtent, oidOfObjectKey } from './object-key.ts'
import { decodeRecord, shapeNumberOf } from './record-format.ts'
import type { RecordFormats } from './record-formats.ts'

export interface ScannedObject {
  readonly oid: Oid
  readonly format: ClassFormat
  readonly values: readonly unknown[]
}

/** `newContainers`: containers that may be younger than the snapshot. Excludes objects of subclasses. */
export async function* scanObjects(
  snapshot: Snapshot,
  formats: RecordFormats,
  classes: ReadonlySet<ClassNumber>,
  newContainers: readonly Container[] = [],
): AsyncGenerator<ScannedObject[]> {
  const read = (key: Uint8Array, record: Uint8Array): ScannedObject => {
    const format = formats.forShape(shapeNumberOf(record))
    return { oid: oidOfObjectKey(key), format, values: decodeRecord(format, record).values }
  }
  for (const { database, container } of await listContainers(snapshot, classes, newContainers)) {
    yield* snapshot.scan(containerExtent(database, container), read)
  }
}

/** Counts keys without reading values. */
export async function countObjects(
  snapshot: Snapshot,
  classes: ReadonlySet<ClassNumber>,
  newContainers: readonly Container[] = [],
): Promise<number> {
  let count = 0
  for (const { database, container } of await listContainers(snapshot, classes, newContainers)) {
    const extent = containerExtent(database, container)
    for await (const batch of snapshot.scan(extent, () => undefined, { keysOnly: true })) count += batch.length
  }
  return count
}

/**
 * The ranges of the present objects of the classes, excluding subclasses, per container: objects created later are outside. With `containerLinksRange`
 * as `extentOf`, those of their link entries.
 */
export async function presentRanges(
  snapshot: Snapshot,
  classes: ReadonlySet<ClassNumber>,
  extentOf = containerExtent,
): Promise<{ readonly from: Buffer; readonly to: Buffer }[]> {
  const extents = (await listContainers(snapshot, classes)).map(({ database, container }) => {
    return extentOf(database, container)
  })
  const ends = extents.map((extent) => ({ ...extent, reverse: true, limit: 1 }))
  const { ranges } = await snapshot.read([], ends)
  return extents.flatMap(({ from }, position) => {
    const last = ranges[position]?.[0]
    return last === undefined ? [] : [{ from, to: Buffer.concat([last.key, Buffer.from([0])]) }]
  })
}
