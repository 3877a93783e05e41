/** Reads all objects of some classes in a transaction that requires them to be unchanged. */
import { AshlarError } from '../errors.ts'
import type { Bytes } from '../store/store.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { Oid } from '../types/oid.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import { type Container, listContainers } from './container-registry.ts'
import { containerExtent, nextContainerKey, objectKey, oidOfObjectKey } from './object-key.ts'
import { revisionPrefixOf } from './record-format.ts'

/**
 * The commit requires the objects to be as read, and no others to be added. Passes the borrowed record of each to `use` and
 * yields its results in parts, since records are not retained. `newContainers`: containers that may be younger than the
 * transaction's snapshot. `rangeLockKey`: see `Precondition`. Throws LimitExceeded for more than `objectsMax`.
 */
export async function* readAndRequireObjects<T>(
  transaction: Transaction,
  classes: ReadonlySet<ClassNumber>,
  newContainers: readonly Container[],
  rangeLockKey: Uint8Array,
  objectsMax: number,
  use: (oid: Oid, record: Bytes) => T,
): AsyncGenerator<readonly T[]> {
  await requireNoNewContainers(transaction)
  let count = 0
  const expected = (key: Bytes, record: Bytes): T => {
    if (++count > objectsMax) {
      throw new AshlarError(
        'LimitExceeded',
        `More than ${objectsMax} objects would have to be looked at within one transaction (transactionIndexObjectsMax).`,
      )
    }
    transaction.requireRevision(Buffer.from(key), Buffer.from(revisionPrefixOf(record)))
    return use(oidOfObjectKey(key), record)
  }
  for (const { database, container } of await listContainers(transaction.overlay(), classes, newContainers)) {
    yield* transaction.scanAndRequireRange(containerExtent(database, container), rangeLockKey, expected)
  }
}

/** Whether one of the classes has an object; if not, the commit requires that none is added. */
export async function hasObjects(
  transaction: Transaction,
  classes: ReadonlySet<ClassNumber>,
  newContainers: readonly Container[],
  rangeLockKey: Uint8Array,
): Promise<boolean> {
  const extents = (await listContainers(transaction.overlay(), classes, newContainers)).map(
    ({ database, container }) => {
      return containerExtent(database, container)
    },
  )
  for (const extent of extents) {
    const { ranges } = await transaction.read([], [{ ...extent, limit: 1 }])
    if (ranges[0]?.length !== 0) return true
  }
  await requireNoNewContainers(transaction)
  for (const extent of extents) await transaction.readAndRequireRange(extent, rangeLockKey)
  return false
}

/** Otherwise the objects of a new container would be missed. */
async function requireNoNewContainers(transaction: Transaction): Promise<void> {
  const { values } = await transaction.read([nextContainerKey])
  const [next] = values
  if (next === undefined) transaction.requireAbsent(nextContainerKey)
  else transaction.requireRevision(nextContainerKey, next)
}

const keyBatchSize = 1_000

/** Returns the objects that exist. The commit requires them to exist and the others to be absent. */
export async function requireAsFound(transaction: Transaction, oids: ReadonlySet<Oid>): Promise<Set<Oid>> {
  const all = [...oids]
  const found = new Set<Oid>()
  for (let at = 0; at < all.length; at += keyBatchSize) {
    const part = all.slice(at, at + keyBatchSize)
    const keys = part.map(objectKey)
    const { values } = await transaction.read(keys)
    for (const [i, oid] of part.entries()) {
      const key = keys[i] as Buffer
      if (values[i] === undefined) transaction.requireAbsent(key)
      else {
        transaction.requirePresent(key)
        found.add(oid)
      }
    }
  }
  return found
}
