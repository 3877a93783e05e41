/** All objects of some classes, read by a transaction that nothing may come in between of. */
import { AshlarError } from '../errors.ts'
import type { Bytes } from '../store/store.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { Oid } from '../types/oid.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import { type Container, listContainers } from './container-registry.ts'
import { containerExtent, nextContainerKey, objectKey, oidOfObjectKey } from './object-key.ts'
import { revisionPrefixOf } from './record-format.ts'

/**
 * Requires the objects to be as they were read, and no others to be added. Passes the borrowed record of each to `use`, and gives in parts what that
 * gives: records themselves are not held. `newContainers`: containers that may be younger than
 * the transaction's snapshot; `rangeLockKey`: see `Precondition`. Throws LimitExceeded for more than `objectsMax`.
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

/** Whether there is an object of one of the classes; where there is none, none may be added before the commit. */
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

/** The objects of a container that is added would be missed. */
async function requireNoNewContainers(transaction: Transaction): Promise<void> {
  const { values } = await transaction.read([nextContainerKey])
  const [next] = values
  if (next === undefined) transaction.requireAbsent(nextContainerKey)
  else transaction.requireRevision(nextContainerKey, next)
}

const keysAtOnce = 1_000

/** Those of the objects that exist. The commit requires that they stay, and that the others are not created. */
export async function requireAsFound(transaction: Transaction, oids: ReadonlySet<Oid>): Promise<Set<Oid>> {
  const all = [...oids]
  const found = new Set<Oid>()
  for (let at = 0; at < all.length; at += keysAtOnce) {
    const part = all.slice(at, at + keysAtOnce)
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
