/** Which statements the rows of a source are those of, so that they are taken as they come instead of being a value. */
import type { Source } from '../language/ast.ts'
import type { Bound, BoundSource, RowStatements } from './bound.ts'
import type { Binder, NestedValue } from './scope.ts'

/** Undefined for rows of anything else, and of statements that are run for each row around them. */
export function rowStatements(source: Source, rows: Bound, binder: Binder): RowStatements | undefined {
  if (rows.kind === 'variable' && rows.type.kind === 'collection') {
    return { indexes: [], variable: rows.name, distinctParts: 0, types: [], isOneColumn: false }
  }
  const parts = rows.kind === 'union' ? rows.operands : [rows]
  const indexes = parts.flatMap((part) => (isOfRows(part, binder) ? [part.index] : []))
  if (indexes.length < parts.length) return undefined
  const isNamed = source.kind === 'references' && source.references.kind === 'nested' && source.references.isNamed
  for (const index of indexes) (binder.nested[index] as NestedValue).source = isNamed ? 'held' : 'once'
  const { distinctParts, types, isOneColumn } =
    rows.kind === 'union' ? rows : { distinctParts: 0, types: [], isOneColumn: false }
  return { indexes, distinctParts, types, isOneColumn }
}

/** The same for a source of objects, of which each is a row once. */
export function objectStatements(source: Source, references: Bound, binder: Binder): RowStatements | undefined {
  const statements = rowStatements(source, references, binder)
  if (statements === undefined || references.type.kind !== 'collection') return undefined
  const { element } = references.type
  return { ...statements, distinctParts: Number.POSITIVE_INFINITY, types: [element], isOneColumn: true }
}

/** Objects that a variable stands for, which may be on disk: they are taken from there, as often as they are wanted. */
export function withVariableRows(bound: BoundSource, source: Source, binder: Binder): BoundSource {
  if (bound.kind === 'class' || bound.references.kind !== 'variable') return bound
  return { ...bound, statements: objectStatements(source, bound.references, binder) }
}

function isOfRows(part: Bound, binder: Binder): part is Extract<Bound, { kind: 'nested' }> {
  if (part.kind !== 'nested' || part.type.kind !== 'collection') return false
  const statement = binder.nested[part.index]?.statement
  if (statement === undefined || binder.isSingleWithin(statement)) return false
  const { kind } = statement
  return kind === 'select' || kind === 'match'
}
