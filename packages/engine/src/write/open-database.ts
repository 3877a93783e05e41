/** The parts of one open federated database: what whoever reads or changes it works with. */
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

/** For a database in a statement thread: the main thread makes its commits, whose summary is a `ChangeSet`, and does what follows them in the background. */
export interface MainThread {
  /** Has entries purged that a change of the schema has left behind. */
  purge(): void
  /** Draws numbers of a sequence, together with what others ask for. */
  next(sequence: string, count: number): Promise<readonly bigint[]>
}

export interface OpenDatabase {
  readonly store: Store
  /** This opening of the store. */
  readonly session: StoreSession
  readonly limits: EngineLimits
  /** Of texts and transactions that ask for none. */
  readonly isolation: Isolation
  readonly catalogs: Catalogs
  readonly containers: Containers
  readonly sequences: Pick<Sequences, 'next'>
  readonly receipts: Receipts
  readonly expressions: ObjectExpressions
  /** Of the caller of one request, for expressions; undefined where nobody is known. */
  readonly user?: UserOfExpressions
  /** Of the process. */
  readonly memory: MemoryPool
  /** The same. */
  readonly temporary: TemporarySpace
  /** Told of each commit. */
  readonly onChanges: ChangeListener | undefined
  /** Told that there was one, whatever it has changed. */
  readonly onCommitted: (() => void) | undefined
  /** In a statement thread. */
  readonly mainThread?: MainThread | undefined
  /** Of the caller of one request; without it everything is allowed. */
  readonly restriction?: Restriction | undefined
  /** Told what fails in the background, where no request could be. */
  readonly onFault: (error: unknown) => void
}
