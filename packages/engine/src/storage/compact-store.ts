/** Compacts a store by its address, if its kind supports that. */
import type { CompactionOptions, CompactionReport } from '../store/lmdb/compact.ts'
import { PlaceRefused } from '../store/place-refused.ts'
import { storeDirectory } from './store-address.ts'

/**
 * Rewrites the data file of an LMDB store without free space, while other processes use the store. Throws an `Error` for the operator on failure, and
 * for kinds of stores that Ashlar cannot compact; and the reason of the signal.
 */
export async function compactStore(address: string, options: CompactionOptions): Promise<CompactionReport> {
  const directory = storeDirectory(address)
  if (directory !== undefined) return (await import('../store/lmdb/compact.ts')).compactLmdbStore(directory, options)
  if (/^postgres(ql)?:/.test(address))
    throw new Error(
      'PostgreSQL uses the space of deleted rows again by itself (autovacuum), and gives it back to the disk by VACUUM FULL or pg_repack: see docs/postgresql.md#space.',
    )
  throw new PlaceRefused('wrongPlace', 'Only stores at lmdb:<directory> can be compacted.')
}
