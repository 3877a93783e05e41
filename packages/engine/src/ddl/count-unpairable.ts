/** Counts the references that an inverse cannot mirror (contract 5.3.19), without building it and in bounded memory. */
import { comparedKeysMax } from '../limits.ts'
import { type Container, listContainers } from '../records/container-registry.ts'
import { containerExtent, objectKey, oidOfObjectKey } from '../records/object-key.ts'
import { recordHeaderBytes, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import { countObjects } from '../records/scan-objects.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { Pairing } from '../schema/pairing.ts'
import type { Bytes, Snapshot } from '../store/store.ts'
import { linkStorageOf } from '../types/link-storage.ts'
import { noOid, type Oid, oidBytes } from '../types/oid.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { AttributeLosses } from './count-losses.ts'

/**
 * Counts references to missing objects and, if the inverse is a single reference, all but the first to each object. `catalog`:
 * contains the reference, with or without its pending type.
 */
export async function countUnpairable(
  snapshot: Snapshot,
  catalog: Catalog,
  { attribute, owner, inverse }: Pairing,
  losses: AttributeLosses,
  newContainers: readonly Container[] = [],
  keysMax = comparedKeysMax,
): Promise<void> {
  const cls = catalog.classByNumber(owner)
  const name = catalog.attribute(attribute)?.name
  if (cls === undefined || name === undefined) return
  const isSingle = linkStorageOf(inverse.spec) === undefined
  const objects = isSingle ? await countObjects(snapshot, classesOf(cls), newContainers) : 0
  const passes = Math.max(1, Math.ceil(objects / keysMax))
  for (let pass = 0; pass < passes; pass++) {
    const isInPass = (target: Oid): boolean => oidBytes(target).readUInt32BE(4) % passes === pass
    const answered = new Set<Oid>()
    for await (const batch of references(snapshot, catalog, cls, attribute, newContainers)) {
      const checked = passes === 1 ? batch : batch.filter(({ target }) => isInPass(target))
      const missing = await missingAmong(snapshot, new Set(checked.map(({ target }) => target)))
      for (const { oid, target } of checked) {
        if (missing.has(target)) {
          losses.add(cls.name, name, 1, `object ${oid} refers to ${target}, which does not exist`)
        } else if (answered.has(target)) {
          losses.add(cls.name, name, 1, `object ${oid} refers to ${target}, as another object does`)
        } else if (isSingle) answered.add(target)
      }
    }
  }
}

interface Reference {
  readonly oid: Oid
  readonly target: Oid
}

async function* references(
  snapshot: Snapshot,
  catalog: Catalog,
  cls: SchemaClass,
  attribute: Pairing['attribute'],
  newContainers: readonly Container[],
): AsyncGenerator<Reference[]> {
  const formats = recordFormats(catalog)
  const read = (key: Bytes, record: Bytes): Reference => {
    const shape = shapeNumberOf(record)
    const format = formats.forShape(shape)
    const { index } = format.attribute(attribute)
    return { oid: oidOfObjectKey(key), target: format.readValue(record, recordHeaderBytes, shape, index) as Oid }
  }
  for (const { database, container } of await listContainers(snapshot, classesOf(cls), newContainers)) {
    for await (const batch of snapshot.scan(containerExtent(database, container), read)) {
      yield batch.filter(({ target }) => target !== noOid)
    }
  }
}

function classesOf({ number, subclasses }: SchemaClass): Set<ClassNumber> {
  return new Set([number, ...subclasses.map((one) => one.number)])
}

/** Read together, in one round trip for a remote store. */
const targetsPerRead = 256

async function missingAmong(snapshot: Snapshot, targets: ReadonlySet<Oid>): Promise<Set<Oid>> {
  const all = [...targets]
  const missing = new Set<Oid>()
  for (let at = 0; at < all.length; at += targetsPerRead) {
    const part = all.slice(at, at + targetsPerRead)
    const found = await Promise.all(part.map((target) => snapshot.view(objectKey(target), () => true)))
    for (const [i, target] of part.entries()) if (found[i] !== true) missing.add(target)
  }
  return missing
}
