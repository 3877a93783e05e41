/** The parts of an open federated database that its readers and writers use. */
import type { MemoryPool } from '../budget/memory-pool.ts'
import type { Catalogs } from '../catalog/catalog-cache.ts'
import type { EngineLimits } from '../limits.ts'
import type { Receipts } from '../receipts/receipt.ts'
import type { Containers } from '../records/container-registry.ts'
import type { Sequences } from '../sequences/sequences.ts'
import type { TemporarySpace } from '../spill/temporary-space.ts'
import type { Store } from '../store/store.ts'
import type { Isolation } from '../transaction/isolation.ts'
import type { StoreSession } from '../transaction/store-session.ts'
import type { Restriction } from './change-guard.ts'
import type { ChangeListener } from './change-set.ts'
import type { ObjectExpressions, UserOfExpressions } from './object-expressions.ts'

/**
 * For a database in a statement thread: the main thread makes its commits, summarised as a `ChangeSet`, and does the background
 * work that follows.
 */
export interface MainThread {
  /** Purges entries left behind by a change of the schema. */
  purge(): void
  /** Draws numbers of a sequence, batched with other requests. */
  next(sequence: string, count: number): Promise<readonly bigint[]>
}

export interface OpenDatabase {
  readonly store: Store
  /** The session of this process with the store. */
  readonly session: StoreSession
  readonly limits: EngineLimits
  /** The default for texts and transactions. */
  readonly isolation: Isolation
  readonly catalogs: Catalogs
  readonly containers: Containers
  readonly sequences: Pick<Sequences, 'next'>
  readonly receipts: Receipts
  readonly expressions: ObjectExpressions
  /** The caller of the request, for expressions; undefined if unknown. */
  readonly user?: UserOfExpressions
  /** Shared by the process. */
  readonly memory: MemoryPool
  /** Shared by the process. */
  readonly temporary: TemporarySpace
  /** Called for each commit that changes something. */
  readonly onChanges: ChangeListener | undefined
  /** Called for each commit. */
  readonly onCommitted: (() => void) | undefined
  /** Set in a statement thread. */
  readonly mainThread?: MainThread | undefined
  /** The restrictions of the caller of one request; if missing, everything is allowed. */
  readonly restriction?: Restriction | undefined
  /** Called for errors of background work, which no request could report. */
  readonly onFault: (error: unknown) => void
}
