/** The representation of indexes in replies: definition and number of entries (contract 6). */
import { AshlarError, truncateForMessage } from '../errors.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { IndexDefinition } from '../schema/class-definition.ts'
import { representIndex } from '../schema/index-definition.ts'
import type { Snapshot } from '../store/store.ts'
import { readProgress } from './build-progress.ts'
import { countIndexEntries } from './count-entries.ts'
import { indexRange } from './index-key.ts'

export type IndexRecord = ReturnType<typeof representIndex> & {
  /** Omitted if the caller does not see everything, since entries would have to be checked one by one. */
  readonly entryCount?: number
  /** Set during a background build. */
  readonly progress?: { readonly objectsDone: number; readonly objectsTotal: number }
}

/** Sorted by name. */
export async function listIndexRecords(snapshot: Snapshot, catalog: Catalog): Promise<IndexRecord[]> {
  const byName = [...catalog.indexes].sort((one, other) => (one.name < other.name ? -1 : 1))
  const records: IndexRecord[] = []
  for (const index of byName) {
    records.push(await recordOf(snapshot, catalog, index))
  }
  return records
}

/** Throws IndexNotFound. */
export async function readIndexRecord(snapshot: Snapshot, catalog: Catalog, name: string): Promise<IndexRecord> {
  const index = catalog.indexByName(name)
  if (index === undefined) throw new AshlarError('IndexNotFound', `There is no index '${truncateForMessage(name)}'.`)
  return recordOf(snapshot, catalog, index)
}

async function recordOf(snapshot: Snapshot, catalog: Catalog, index: IndexDefinition): Promise<IndexRecord> {
  const isPart = (await snapshot.hides?.(indexRange(index.number))) === true
  const counted = isPart ? {} : { entryCount: await countIndexEntries(snapshot, index.number) }
  const record = { ...representIndex(index, catalog), ...counted }
  if (index.state !== 'building' || index.isBackground !== true) return record
  const { objectsDone = 0, objectsTotal = 0 } = (await readProgress(snapshot, index.number)) ?? {}
  return { ...record, progress: { objectsDone, objectsTotal } }
}
