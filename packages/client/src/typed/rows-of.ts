/** Rows as the types of the typed interface say. */
import type { Finding, Values } from './statement.ts'

/** Changes rows to what the types say: null for references to nothing, and `$id` and `$class` for whole objects. */
export function rowsOf(rows: Values[], { select }: Finding): Values[] {
  for (const row of rows) nullReferences(row)
  if (select !== undefined) return rows
  return rows.map(({ __class__: $class, __identifier__: $id, ...attributes }) => ({ $id, $class, ...attributes }))
}

export const noReference = '0-0-0-0'

/** In place. */
export function nullReferences(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  const fields = value as Record<string, unknown>
  for (const name of Object.keys(fields)) {
    const field = fields[name]
    if (field === noReference) fields[name] = null
    else if (typeof field === 'object') nullReferences(field)
  }
}
