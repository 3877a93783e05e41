/**
 * Builds an index as part of a transaction: over the objects as the transaction sees them, and committed with the rest
 * of it. Nothing may come in between, so everything that is indexed is expected to be as it was read.
 */
import { catalogVersionKey } from '../catalog/catalog-keys.ts'
import { AshlarError } from '../errors.ts'
import { type Container, listContainers } from '../records/containers.ts'
import { containerExtent, nextContainerKey, objectKey, oidOfObjectKey } from '../records/object-key.ts'
import { decodeRecord, revisionPrefixOf, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { IndexDefinition } from '../schema/class-definition.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { type Oid, oidBytes } from '../types/oid.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import { makeIndexKey } from './index-key.ts'
import { indexFormatsOf, uniqueViolationError } from './maintain.ts'

/**
 * `catalog` has the index as ready. `young`: containers that may be younger than the transaction's snapshot.
 * Throws UniqueViolation, and LimitExceeded for more than `objectsMax` objects.
 */
export async function buildIndexWithin(
  transaction: Transaction,
  catalog: Catalog,
  index: IndexDefinition,
  young: readonly Container[],
  objectsMax: number,
): Promise<void> {
  const formats = recordFormats(catalog)
  const holders = new Map<string, Oid>()
  let count = 0
  for (const container of await coveredContainers(transaction, catalog, index, young)) {
    const extent = containerExtent(container.database, container.container)
    const entries = await transaction.readAndExpectRange(extent, catalogVersionKey)
    count += entries.length
    if (count > objectsMax) {
      throw new AshlarError(
        'LimitExceeded',
        `Index '${index.name}' covers more than ${objectsMax} objects (transactionIndexObjectsMax), too many to be built within a transaction.`,
      )
    }
    for (const { key: recordKey, value: record } of entries) {
      const oid = oidOfObjectKey(recordKey)
      const format = formats.ofShape(shapeNumberOf(record))
      const keyFormat = indexFormatsOf(format).find((candidate) => candidate.index.number === index.number)
      if (keyFormat === undefined) throw new Error(`assertion failed: index ${index.name} covers object ${oid}`)
      const { values } = decodeRecord(format, record)
      const { key } = makeIndexKey(keyFormat, values, oid)
      const text = key.toString('latin1')
      const holder = holders.get(text)
      if (holder !== undefined) throw uniqueViolationError(keyFormat, format.cls.name, values, holder)
      holders.set(text, oid)
      transaction.expectRevision(objectKey(oid), revisionPrefixOf(record))
      transaction.put(key, oidBytes(oid))
    }
  }
}

/** No container may be added meanwhile either: its objects would be missed. */
async function coveredContainers(
  transaction: Transaction,
  catalog: Catalog,
  index: IndexDefinition,
  young: readonly Container[],
): Promise<Container[]> {
  const { values } = await transaction.read([nextContainerKey])
  const [next] = values
  if (next === undefined) transaction.expectAbsent(nextContainerKey)
  else transaction.expectRevision(nextContainerKey, next)
  const classes = new Set<ClassNumber>([index.indexedClass])
  for (const { number } of catalog.classByNumber(index.indexedClass)?.subclasses ?? []) classes.add(number)
  return listContainers(transaction.overlay(), classes, young)
}
