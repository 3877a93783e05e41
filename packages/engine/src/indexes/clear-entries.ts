/** Deletes the entries of dropped indexes, in batches; until then the catalog keeps them on its list of garbage. */
import { catalogKey, catalogPartRange, numberOfCatalogKey } from '../catalog/catalog-keys.ts'
import type { IndexNumber } from '../schema/class-definition.ts'
import type { Store } from '../store/store.ts'
import { awaitCommitsUnderWay } from '../store/with-snapshot.ts'
import { indexRange } from './index-key.ts'

const batchEntries = 2_000

/** Clears whatever is on the list; begun again after a stop, it goes on where it was. */
export async function clearDroppedIndexes(store: Store): Promise<void> {
  const snapshot = await store.snapshot()
  const numbers: IndexNumber[] = []
  for await (const batch of snapshot.scan(catalogPartRange('garbage'), numberOfCatalogKey, { keysOnly: true })) {
    numbers.push(...(batch as IndexNumber[]))
  }
  snapshot.release()
  // Of writers that still knew of the index, no entry may come after it is cleared.
  if (numbers.length > 0) await awaitCommitsUnderWay(store)
  for (const number of numbers) await clearIndex(store, number)
}

async function clearIndex(store: Store, index: IndexNumber): Promise<void> {
  for (;;) {
    const snapshot = await store.snapshot()
    const { ranges } = await snapshot.read([], [{ ...indexRange(index), limit: batchEntries }])
    snapshot.release()
    const entries = ranges[0] ?? []
    const isLast = entries.length < batchEntries
    const changes = entries.map(({ key }) => ({ kind: 'delete' as const, key }))
    if (isLast) {
      changes.push({ kind: 'delete', key: catalogKey('garbage', index) })
      changes.push({ kind: 'delete', key: catalogKey('progress', index) })
    }
    await store.commit({ changes, expectations: [] })
    if (isLast) return
  }
}
