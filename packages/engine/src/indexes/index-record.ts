/** Indexes as replies show them: their definition, and how many entries they have (REST interface, section 6). */
import { AshlarError } from '../errors.ts'
import type { Catalog } from '../schema/catalog.ts'
import { representIndex } from '../schema/index-definition.ts'
import { shownText } from '../schema/request-body.ts'
import type { Snapshot } from '../store/store.ts'
import { countEntries } from './count-entries.ts'

export type IndexRecord = ReturnType<typeof representIndex> & { readonly entryCount: number }

/** By name. */
export async function listIndexRecords(snapshot: Snapshot, catalog: Catalog): Promise<IndexRecord[]> {
  const byName = [...catalog.indexes].sort((one, other) => (one.name < other.name ? -1 : 1))
  const records: IndexRecord[] = []
  for (const index of byName) {
    records.push({ ...representIndex(index, catalog), entryCount: await countEntries(snapshot, index.number) })
  }
  return records
}

/** Throws IndexNotFound. */
export async function readIndexRecord(snapshot: Snapshot, catalog: Catalog, name: string): Promise<IndexRecord> {
  const index = catalog.indexByName(name)
  if (index === undefined) throw new AshlarError('IndexNotFound', `There is no index '${shownText(name)}'.`)
  return { ...representIndex(index, catalog), entryCount: await countEntries(snapshot, index.number) }
}
