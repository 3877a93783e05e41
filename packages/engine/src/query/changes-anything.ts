/** Which statements change something: a text without any runs on one snapshot, and its reply is streamed. */
import type { Statement } from './ast.ts'

const changing: readonly string[] = ['create', 'upsert', 'update', 'delete', 'schema', 'createIndex', 'dropIndex']
const known = new WeakMap<Statement, boolean>()

/** Also where the change is nested: `LET x = CREATE …`, `FOR EACH … => (DELETE …)`. EXPLAIN changes nothing. */
export function changesAnything(statement: Statement): boolean {
  let found = known.get(statement)
  if (found === undefined) {
    found = statement.kind !== 'explain' && holdsChange(statement)
    known.set(statement, found)
  }
  return found
}

function holdsChange(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false
  if (Array.isArray(part)) return part.some(holdsChange)
  const { kind } = part as { readonly kind?: unknown }
  if (typeof kind === 'string' && changing.includes(kind)) return true
  return Object.values(part).some(holdsChange)
}
