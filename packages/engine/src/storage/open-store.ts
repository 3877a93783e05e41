/** Opens a store by its address, the one form in which configuration names stores. */
import { openMemoryStore } from '../store/memory/memory-store.ts'
import { PlaceRefused } from '../store/place-refused.ts'
import type { Store, StoreOptions, StoreWithBackup } from '../store/store.ts'
import { keyPlacement } from './key-placement.ts'
import { addressProblem } from './store-address.ts'
import { withBackup } from './with-backup.ts'

export interface OpenStoreOptions extends StoreOptions {
  /** The store is only read, as by a copy, and must exist; it may be of an earlier version, which cannot be served. */
  readonly isReadOnly?: boolean
}

/**
 * Loads a driver when its first store is opened, so that no process loads unused ones.
 * Addresses are `lmdb:<directory>`, `postgres://…`, `citus://…` and `memory:`; any other throws an `Error` with one sentence for the operator.
 */
export async function openStore(address: string, options: OpenStoreOptions = {}): Promise<StoreWithBackup> {
  const problem = addressProblem(address)
  if (problem !== undefined) throw new PlaceRefused('wrongPlace', problem)
  const colon = address.indexOf(':')
  const location = address.slice(colon + 1)
  switch (address.slice(0, colon)) {
    case 'lmdb':
      return (await import('../store/lmdb/lmdb-store.ts')).openLmdbStore(location, options)
    case 'memory':
      return withBackup(await openMemoryStore())
    default:
      return { ...withBackup(await openPostgres(address, options)), threadAddress: () => address }
  }
}

/** A second handle on a store that this process has open, for a worker thread. `commit` forwards commits to the main thread. */
export async function openStoreInThread(address: string, commit: Store['commit']): Promise<Store> {
  if (address.startsWith('lmdb:')) {
    const { openLmdbThreadStore } = await import('../store/lmdb/thread-store.ts')
    return openLmdbThreadStore(address, commit)
  }
  return { ...(await openPostgres(withConnections(address, threadConnections), {})), commit }
}

/** A statement reads over one connection, or over two if it needs another snapshot. */
const threadConnections = 2

function withConnections(address: string, connections: number): string {
  const [base = '', parameters = ''] = address.split('?', 2)
  const search = new URLSearchParams(parameters)
  search.set('connections', String(connections))
  return `${base}?${search}`
}

/** A table that Citus has distributed is opened by its driver, whichever scheme the address has. */
async function openPostgres(address: string, options: OpenStoreOptions): Promise<Store> {
  const { openPostgresStore } = await import('../store/postgres/postgres-store.ts')
  const store = await openPostgresStore(address, keyPlacement, options)
  return store ?? (await import('../store/citus/citus-store.ts')).openCitusStore(address, keyPlacement, options)
}
