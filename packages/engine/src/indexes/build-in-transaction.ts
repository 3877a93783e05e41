/** Builds an index as part of a transaction, over the objects visible to it. The commit requires all indexed objects to be unchanged. */

import { catalogVersionKey } from '../bytes/key-space.ts'
import { type AshlarError, assert } from '../errors.ts'
import type { Container } from '../records/container-registry.ts'
import { decodeRecord, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import { readAndRequireObjects } from '../records/require-objects.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { IndexDefinition } from '../schema/class-definition.ts'
import type { Bytes } from '../store/store.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { type Oid, oidBytes } from '../types/oid.ts'
import { coveredClasses } from './build.ts'
import { countedEqualKeys, namedOidsMax } from './equal-keys.ts'
import { makeIndexKey } from './index-key.ts'
import { indexFormatsOf, uniqueViolationError } from './maintain.ts'

/** `catalog` has the index as ready. `newContainers` may be younger than the snapshot. Throws UniqueViolation and LimitExceeded. */
export async function buildIndexInTransaction(
  transaction: Transaction,
  catalog: Catalog,
  index: IndexDefinition,
  newContainers: readonly Container[],
  objectsMax: number,
): Promise<void> {
  const formats = recordFormats(catalog)
  const holders = new Map<string, Oid>()
  const equal = new Set<Oid>()
  let violation: AshlarError | undefined
  const build = (oid: Oid, record: Bytes): void => {
    const format = formats.forShape(shapeNumberOf(record))
    const keyFormat = indexFormatsOf(format).all.find((candidate) => candidate.index.number === index.number)
    assert(keyFormat !== undefined, `index ${index.name} covers object ${oid}`)
    const { values } = decodeRecord(format, record)
    const { key } = makeIndexKey(keyFormat, values, oid)
    const text = key.toString('latin1')
    const holder = holders.get(text)
    if (holder !== undefined) {
      violation ??= uniqueViolationError(keyFormat, format.cls.name, values, holder)
      equal.add(holder).add(oid)
      return
    }
    holders.set(text, oid)
    transaction.put(key, oidBytes(oid))
  }
  const classes = coveredClasses(catalog, index.indexedClass)
  for await (const _ of readAndRequireObjects(
    transaction,
    classes,
    newContainers,
    catalogVersionKey,
    objectsMax,
    build,
  ));
  if (violation === undefined) return
  throw countedEqualKeys(violation, catalog, index, equal.size, [...equal].slice(0, namedOidsMax))
}
