/** Deletes the entries of dropped indexes in batches; the catalog lists these indexes until then. */
import { catalogKey, catalogPartRange, numberOfCatalogKey } from '../catalog/catalog-keys.ts'
import type { IndexNumber } from '../schema/class-definition.ts'
import type { Store } from '../store/store.ts'
import { awaitPendingCommits, withSnapshot } from '../store/with-snapshot.ts'
import { indexRange } from './index-key.ts'

const batchEntries = 2_000

/** Clears all listed indexes; resumable. */
export async function purgeDroppedIndexes(store: Store): Promise<void> {
  const numbers = await withSnapshot(store, async (snapshot) => {
    const listed: IndexNumber[] = []
    for await (const batch of snapshot.scan(catalogPartRange('droppedIndexes'), numberOfCatalogKey, {
      keysOnly: true,
    })) {
      listed.push(...(batch as IndexNumber[]))
    }
    return listed
  })
  // Writers that still know the index must not add entries after it is cleared.
  if (numbers.length > 0) await awaitPendingCommits(store)
  for (const number of numbers) await purgeIndex(store, number)
}

async function purgeIndex(store: Store, index: IndexNumber): Promise<void> {
  for (;;) {
    const { ranges } = await withSnapshot(store, (snapshot) => {
      return snapshot.read([], [{ ...indexRange(index), limit: batchEntries }])
    })
    const entries = ranges[0] ?? []
    const isLast = entries.length < batchEntries
    const changes = entries.map(({ key }) => ({ kind: 'delete' as const, key }))
    if (isLast) {
      changes.push({ kind: 'delete', key: catalogKey('droppedIndexes', index) })
      changes.push({ kind: 'delete', key: catalogKey('progress', index) })
    }
    await store.commit({ changes, preconditions: [] })
    if (isLast) return
  }
}
