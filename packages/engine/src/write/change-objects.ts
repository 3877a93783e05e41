/** A change of objects as a transaction of its own. */
import type { MemoryPool } from '../budget/memory-pool.ts'
import { RequestMemory } from '../budget/request-memory.ts'
import { catalogVersionKey } from '../bytes/key-space.ts'
import type { Containers } from '../records/container-registry.ts'
import { objectKey } from '../records/object-key.ts'
import type { StoreSession } from '../transaction/store-session.ts'
import type { Oid } from '../types/oid.ts'
import { flushObjects } from './flush.ts'
import { type CatalogSource, transactWithCatalog } from './transact-with-catalog.ts'
import { UnitOfWork } from './unit-of-work.ts'

export interface WriteResources extends CatalogSource {
  readonly containers: Containers
  readonly session: StoreSession
  /** Of the process. */
  readonly memory: MemoryPool
}

/** `oid`: the object that is read in any case. Throws what `body` does, UniqueViolation, TransactionContention, LimitExceeded. */
export async function changeObjects<T>(
  resources: WriteResources,
  body: (unit: UnitOfWork) => Promise<T>,
  oid?: Oid,
): Promise<T> {
  const memory = new RequestMemory(resources.memory, resources.limits)
  try {
    return await transactWithCatalog(
      resources,
      async (transaction, catalog, recorder) => {
        transaction.requireRevision(catalogVersionKey, catalog.version)
        const unit = new UnitOfWork(transaction, catalog, resources.containers, resources.session, recorder)
        const result = await body(unit)
        await flushObjects(unit)
        return result
      },
      {
        prefetchKeys: oid === undefined ? [catalogVersionKey] : [catalogVersionKey, objectKey(oid)],
        memory,
        mayAssume: oid === undefined,
      },
    )
  } finally {
    memory.release()
  }
}
