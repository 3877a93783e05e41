/** What queries are carried out with: the parts of a federated database that they need. */
import type { MemoryPool } from '../budget/memory-pool.ts'
import type { CatalogCache } from '../catalog/catalog-cache.ts'
import type { CatalogWriter } from '../ddl/catalog-writer.ts'
import type { DdlExecutor } from '../ddl/ddl-executor.ts'
import type { EngineLimits } from '../limits.ts'
import type { Receipts } from '../receipts/receipt.ts'
import type { Containers } from '../records/container-registry.ts'
import type { Store } from '../store/store.ts'
import type { StoreSession } from '../transaction/store-session.ts'
import type { ChangeListener } from '../write/change-set.ts'
import type { Dialect } from './language/dialect.ts'
import type { PlanCache } from './plan-cache.ts'

export interface QueryResources {
  readonly store: Store
  readonly limits: EngineLimits
  readonly catalogs: CatalogCache
  readonly onChanges: ChangeListener | undefined
  readonly containers: Containers
  readonly session: StoreSession
  readonly ddl: DdlExecutor
  readonly catalogWriter: CatalogWriter
  readonly receipts: Receipts
  readonly plans: PlanCache
  /** Of statements that ask for none. */
  readonly dialect: Dialect
  /** Of the process. */
  readonly memory: MemoryPool
  /** Below which IMPORT CSV may read; undefined = not at all. */
  readonly importDirectory: string | undefined
}
