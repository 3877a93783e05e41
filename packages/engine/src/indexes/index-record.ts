/** Indexes as replies show them: their definition, and how many entries they have (contract 6). */
import { AshlarError } from '../errors.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { IndexDefinition } from '../schema/class-definition.ts'
import { truncateForMessage } from '../schema/command-error.ts'
import { representIndex } from '../schema/index-definition.ts'
import type { Snapshot } from '../store/store.ts'
import { readProgress } from './build-progress.ts'
import { countEntries } from './count-entries.ts'

export type IndexRecord = ReturnType<typeof representIndex> & {
  /** Left out for callers with grants. */
  readonly entryCount?: number
  /** Of a background build; likewise. */
  readonly progress?: { readonly objectsDone: number; readonly objectsTotal: number }
}

/** By name. `countsEntries`: whether to tell how many entries and objects there are. */
export async function listIndexRecords(
  snapshot: Snapshot,
  catalog: Catalog,
  countsEntries: boolean,
): Promise<IndexRecord[]> {
  const byName = [...catalog.indexes].sort((one, other) => (one.name < other.name ? -1 : 1))
  const records: IndexRecord[] = []
  for (const index of byName) {
    records.push(await recordOf(snapshot, catalog, index, countsEntries))
  }
  return records
}

/** Throws IndexNotFound. */
export async function readIndexRecord(
  snapshot: Snapshot,
  catalog: Catalog,
  name: string,
  countsEntries: boolean,
): Promise<IndexRecord> {
  const index = catalog.indexByName(name)
  if (index === undefined) throw new AshlarError('IndexNotFound', `There is no index '${truncateForMessage(name)}'.`)
  return recordOf(snapshot, catalog, index, countsEntries)
}

async function recordOf(
  snapshot: Snapshot,
  catalog: Catalog,
  index: IndexDefinition,
  countsEntries: boolean,
): Promise<IndexRecord> {
  const counted = countsEntries ? { entryCount: await countEntries(snapshot, index.number) } : {}
  const record = { ...representIndex(index, catalog), ...counted }
  if (!countsEntries || index.state !== 'building' || index.isBackground !== true) return record
  const { objectsDone = 0, objectsTotal = 0 } = (await readProgress(snapshot, index.number)) ?? {}
  return { ...record, progress: { objectsDone, objectsTotal } }
}
