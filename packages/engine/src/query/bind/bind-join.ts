/** FROM several sources, and FROM rows that are values (docs/query-language.md, Several sources). */
import { truncateForMessage } from '../../errors.ts'
import type { Expression, SelectStatement, Source } from '../language/ast.ts'
import type { RecordType, ValueType } from '../values/value-type.ts'
import { withAllNames } from './bind-match.ts'
import { isNameAround } from './bind-path.ts'
import {
  type BoundSelect,
  bindClauses,
  bindRowsSource,
  bindSelect,
  bindSource,
  rowTypeOf,
  withAll,
} from './bind-select.ts'
import type { Bound, BoundClauses, BoundProjection, BoundSource, RowStatements } from './bound.ts'
import { rowStatements, withVariableRows } from './row-statements.ts'
import type { Binder, Scope } from './scope.ts'

export type BoundJoinSource = {
  readonly slot: number
  readonly name: string
  readonly type: ValueType
} & ({ readonly kind: 'objects'; readonly source: BoundSource } | BoundRows)

/** Values evaluated before the rows of the statement. */
interface BoundRows {
  readonly kind: 'rows'
  readonly rows: Bound
  /** Set if the rows come from statements: their numbers among the nested ones; the first `distinctParts` are deduplicated. */
  readonly statements: RowStatements | undefined
  /** Whether the values of one column are wrapped in records. */
  readonly isWrapped: boolean
  /** Whether there are several values instead of one. */
  readonly isMany: boolean
}

export interface BoundJoin {
  readonly sources: readonly BoundJoinSource[]
  readonly clauses: BoundClauses
  readonly rowType: ValueType
  readonly isSingle: boolean
}

export function bindFrom(statement: SelectStatement, binder: Binder): BoundSelect | BoundJoin {
  const { source, others = [] } = statement
  if (others.length > 0 || bindRowsSource(source, binder) !== undefined) return bindJoin(statement, binder)
  return bindSelect(statement, binder)
}

function bindJoin(statement: SelectStatement, binder: Binder): BoundJoin {
  const written = [statement.source, ...(statement.others ?? [])]
  for (const source of written) refuseSiblings(source, written, binder)
  const sources = written.map((source) => bindJoinSource(source, binder))
  const names = new Map<string, Bound>()
  for (const [i, source] of sources.entries()) {
    const { name, type, slot } = source
    const place = written[i] as Source
    if (names.has(name)) throw binder.error(place, `two sources are called '${name}'; an alias gives one another name`)
    const { start, end } = place.alias ?? place
    names.set(name, { kind: source.kind === 'objects' ? 'self' : 'slot', slot, type, start, end })
  }
  const named = new Map([...names].filter((_name, i) => written[i]?.alias !== undefined))
  const scope: Scope = { outer: undefined, context: undefined, sources, names: named, aggregates: undefined }
  const [only] = sources
  const own: Scope = sources.length === 1 && only !== undefined ? { ...scope, sources: [], context: only } : scope
  const bound = bindClauses(statement, own, binder)
  const clauses =
    sources.length === 1 && only?.type.kind === 'record'
      ? withFields(bound, only, only.type, own, binder)
      : withAllNames(bound, names, own, binder)
  return { sources, clauses, ...rowTypeOf(clauses, { kind: 'null' }, statement) }
}

/** Sources cannot refer to each other: `FROM Airport a, a.departures f` must be a pattern. */
function refuseSiblings(source: Source, all: readonly Source[], binder: Binder): void {
  const path = source.kind === 'class' ? source.className.text.split('.') : stepsOf(source.references)
  const [root, ...steps] = path
  const sibling = all.find((other) => other !== source && other.alias?.name === root)
  if (root === undefined || steps.length === 0 || sibling?.kind !== 'class') return
  if (binder.outer !== undefined && isNameAround(root, binder.outer)) return
  const edges = steps.map((step, i) => `-[:${step}]->(${i === steps.length - 1 ? (source.alias?.name ?? '') : ''})`)
  const pattern = truncateForMessage(`MATCH (${root}:${sibling.className.text})${edges.join('')}`)
  throw binder.error(source, `sources of FROM do not see each other; links are followed by ${pattern}`)
}

/** The steps of a path of names. */
function stepsOf(expression: Expression): string[] {
  if (expression.kind === 'name') return [expression.name]
  if (expression.kind !== 'member') return []
  const outer = stepsOf(expression.object)
  return outer.length === 0 ? [] : [...outer, expression.name]
}

/** Expands `RETURN *` of records to their fields. */
function withFields(
  clauses: BoundClauses,
  { slot }: BoundJoinSource,
  type: RecordType,
  scope: Scope,
  binder: Binder,
): BoundClauses {
  if (clauses.projections !== undefined && !clauses.isWithAll) return clauses
  const span = { start: 0, end: 0 }
  const object: Bound = { kind: 'slot', slot, type, ...span }
  const projections = type.fields.map(({ name, type: field }, index): BoundProjection => {
    return { name, expression: { kind: 'field', object, index, name, type: field, ...span } }
  })
  return withAll(clauses, projections, scope, binder)
}

function bindJoinSource(source: Source, binder: Binder): BoundJoinSource {
  const rows = bindRowsSource(source, binder)
  const slot = binder.newSlot()
  if (rows !== undefined) {
    const { row: type, ...values } = rows
    const statements = rowStatements(source, rows.rows, binder)
    return { slot, name: nameOf(source, 'row', binder), type, kind: 'rows', statements, ...values }
  }
  const bound = withVariableRows(bindSource(source, binder), source, binder)
  const type: ValueType = { kind: 'reference', cls: bound.cls }
  return { slot, name: nameOf(source, bound.cls.name, binder), type, kind: 'objects', source: bound }
}

/** Defaults to the source as written. */
function nameOf({ alias, start, end }: Source, otherwise: string, { text }: Binder): string {
  if (alias !== undefined) return alias.name
  const written = text.slice(start, end)
  return /^[\w.]+$/.test(written) ? written : otherwise
}
