/** Compacts a store by its address, where that is something to be done. */
import type { CompactionOptions, CompactionReport } from '../store/lmdb/compact.ts'
import { PlaceRefused } from '../store/place-refused.ts'
import { storeDirectory } from './store-address.ts'

/**
 * Writes the data file of an LMDB store anew, without free space, while others read and write the store. Throws an `Error` for the operator
 * where it cannot, and for stores in which there is nothing for Ashlar to compact; and the reason of the signal.
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
