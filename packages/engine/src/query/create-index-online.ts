/** Executes CREATE INDEX as the only statement of a text: the index is built online, concurrently with writes. */
import { recordFormats } from '../records/record-formats.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import { bindCreateIndex } from './bind/bind-schema.ts'
import { placesOfIndex } from './bind/schema-places.ts'
import { chunksOf, jsonRow } from './execute/row-chunk.ts'
import type { ScriptContext } from './execute/statement-context.ts'
import type { CreateIndexStatement } from './language/ast.ts'
import { atPlace } from './language/query-error.ts'
import { createBinder } from './plan-cache.ts'
import type { RowChunk, RowChunks } from './query-request.ts'
import type { QueryResources } from './query-resources.ts'
import type { RowsReceipt } from './script-commits.ts'
import { indexRow } from './statements/create-index.ts'
import { typeOfStatement } from './statements/statement-kinds.ts'
import { noTextFormats } from './values/text-format.ts'

export async function createIndexOnline(
  statement: CreateIndexStatement,
  texts: ScriptContext,
  resources: QueryResources,
  receipt: RowsReceipt | undefined,
): Promise<RowChunks> {
  const { text, limits, dialect } = texts
  const { restriction, store, catalogs } = resources.database
  const stored = await withSnapshot(store, async (snapshot) => {
    // Checked before names are resolved: if the request was executed before, the class may have been dropped since.
    await receipt?.check(snapshot)
    return catalogs.at(snapshot)
  })
  const catalog = restriction?.catalogOf(stored) ?? stored
  const formats = recordFormats(catalog)
  const { walkEdgesMax } = limits
  const context = { text, dialect, catalog, formats, variables: new Map(), walkEdgesMax, textFormats: noTextFormats }
  const binder = createBinder({ ...context, typeOfStatement })
  const rowOf = ({ name }: { readonly name: string }): RowChunk[] => [jsonRow(indexRow(name, texts))]
  const command = bindCreateIndex(statement, binder)
  const index = await atPlace(text, placesOfIndex(statement), () => {
    return resources.ddl.createIndex(command, { signal: texts.signal, receipt: receipt?.from(rowOf) })
  })
  return chunksOf(rowOf(index), texts.memory)
}
