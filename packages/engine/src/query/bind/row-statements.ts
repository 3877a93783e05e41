/** Finds the statements behind the rows of a source, so that these are streamed instead of collected. */
import type { Source } from '../language/ast.ts'
import type { Bound, BoundSource, RowStatements } from './bound.ts'
import type { Binder, NestedValue } from './scope.ts'

/** Returns undefined for other rows, and for correlated statements. */
export function rowStatements(source: Source, rows: Bound, binder: Binder): RowStatements | undefined {
  if (rows.kind === 'variable' && rows.type.kind === 'collection') {
    return { indexes: [], variable: rows.name, distinctParts: 0, types: [], isOneColumn: false }
  }
  const parts = rows.kind === 'union' ? rows.operands : [rows]
  const indexes = parts.flatMap((part) => (isRows(part, binder) ? [part.index] : []))
  if (indexes.length < parts.length) return undefined
  const isNamed = source.kind === 'references' && source.references.kind === 'nested' && source.references.isNamed
  for (const index of indexes) (binder.nested[index] as NestedValue).source = isNamed ? 'held' : 'once'
  const { distinctParts, types, isOneColumn } =
    rows.kind === 'union' ? rows : { distinctParts: 0, types: [], isOneColumn: false }
  return { indexes, distinctParts, types, isOneColumn }
}

/** Applies to a source of objects, in which each object is one row. */
export function objectStatements(source: Source, references: Bound, binder: Binder): RowStatements | undefined {
  const statements = rowStatements(source, references, binder)
  if (statements === undefined || references.type.kind !== 'collection') return undefined
  const { element } = references.type
  return { ...statements, distinctParts: Number.POSITIVE_INFINITY, types: [element], isOneColumn: true }
}

/** Rereads the objects of a variable on each use, if they are on disk. */
export function withVariableRows(bound: BoundSource, source: Source, binder: Binder): BoundSource {
  if (bound.kind === 'class' || bound.references.kind !== 'variable') return bound
  return { ...bound, statements: objectStatements(source, bound.references, binder) }
}

function isRows(part: Bound, binder: Binder): part is Extract<Bound, { kind: 'nested' }> {
  if (part.kind !== 'nested' || part.type.kind !== 'collection') return false
  const statement = binder.nested[part.index]?.statement
  if (statement === undefined || binder.isSingleWithin(statement)) return false
  const { kind } = statement
  return kind === 'select' || kind === 'match'
}
