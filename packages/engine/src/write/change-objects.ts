/** Changes objects in a separate transaction. */
import type { MemoryHolder } from '../budget/memory-pool.ts'
import { RequestMemory } from '../budget/request-memory.ts'
import { catalogVersionKey } from '../bytes/key-space.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { AshlarError } from '../errors.ts'
import type { EngineLimits } from '../limits.ts'
import { objectKey } from '../records/object-key.ts'
import type { Bytes } from '../store/store.ts'
import type { CommitSize } from '../transaction/commit-size.ts'
import type { Oid } from '../types/oid.ts'
import { flushObjects } from './flush.ts'
import { unitExpressions } from './object-expressions.ts'
import type { OpenDatabase } from './open-database.ts'
import { transactWithCatalog } from './transact-with-catalog.ts'
import { UnitOfWork } from './unit-of-work.ts'

export interface ChangeOptions {
  /** An object that is read in any case. */
  readonly oid?: Oid | undefined
  /** The number of objects to change, if it may be large. */
  readonly objects?: number | undefined
  /** Signals that the client has disconnected, which ends waiting for other transactions. */
  readonly signal?: CancelSignal | undefined
  /** The limits of a bulk load, including `objects`; by default those of ordinary changes. */
  readonly size?: CommitSize | undefined
  /** The holder of the memory that the change uses. */
  readonly memoryHolder?: MemoryHolder | undefined
}

/** Throws the errors of `body`, UniqueViolation, TransactionContention, LimitExceeded, and the signal's reason. */
export function changeObjects<T>(
  database: OpenDatabase,
  body: (unit: UnitOfWork) => Promise<T>,
  { oid, objects = 1, size, signal, memoryHolder }: ChangeOptions,
): Promise<T> {
  const { limits, store } = database
  return transactWithCatalog(
    database,
    async (transaction, catalog, recorder) => {
      if (size === undefined) checkChangedObjects(objects, limits)
      transaction.requireRevision(catalogVersionKey, catalog.version)
      const { containers, session, restriction } = database
      const expressions = unitExpressions(database)
      const unit = new UnitOfWork(transaction, catalog, containers, session, recorder, expressions, restriction, limits)
      const result = await body(unit)
      await flushObjects(unit)
      return result
    },
    {
      prefetchKeys: store.capabilities.hasSynchronousReads ? undefined : keysReadFirst(oid),
      mayShare: true,
      memory: new RequestMemory(database.memory, limits, memoryHolder),
      releasesMemory: true,
      size,
      signal,
      mayAssumeLatestCatalog: oid === undefined,
    },
  )
}

function keysReadFirst(oid: Oid | undefined): readonly Bytes[] {
  return oid === undefined ? [catalogVersionKey] : [catalogVersionKey, objectKey(oid)]
}

/** All objects that a transaction changes are held in memory until the commit. Throws LimitExceeded. */
export function checkChangedObjects(
  objects: number,
  { changedObjectsMax }: Pick<EngineLimits, 'changedObjectsMax'>,
): void {
  if (objects <= changedObjectsMax) return
  throw new AshlarError(
    'LimitExceeded',
    `More than ${changedObjectsMax} objects would be changed at once (changedObjectsMax). Divide the change, each part a request of its own: ` +
      'an array into shorter ones, a statement by conditions in its WHERE; the rows of a file by IMPORT … COMMIT EVERY.',
  )
}
