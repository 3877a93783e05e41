/** FROM … RETURN, LOOKUP, and the clauses shared with other statements (docs/query-language.md, Finding). */
import { ClassSet, withSubclasses } from '../../schema/class-set.ts'
import type {
  Clauses,
  Expression,
  LimitClause,
  LookupStatement,
  OrderClauses,
  Projection,
  QualifiedName,
  Returned,
  SelectStatement,
  Source,
} from '../language/ast.ts'

import { aTypeName, booleanType, isReference, type RecordType, type ValueType } from '../values/value-type.ts'
import { refuseUngroupedValues } from './beside-aggregates.ts'
import { bindGroupKey, bindOrderItem } from './bind-keys.ts'
import { isNameAround, pathWritten } from './bind-path.ts'
import { windowRule } from './bind-window.ts'
import {
  type Bound,
  type BoundAggregate,
  type BoundClauses,
  type BoundLimit,
  type BoundOrderItem,
  type BoundProjection,
  type BoundSource,
  type BoundWindow,
  isConstant,
  operandsOf,
} from './bound.ts'
import { boundKey } from './bound-key.ts'
import { resolveReferenceable } from './class-names.ts'
import { coerced } from './coercion.ts'
import { requireKey } from './require-key.ts'
import { objectStatements, withVariableRows } from './row-statements.ts'
import { type Binder, emptyScope, nothingAsNull, type Scope, sourceScope } from './scope.ts'

type ReferencesSource = Extract<Source, { kind: 'references' }>

export interface BoundSelect {
  readonly source: BoundSource
  readonly slot: number
  readonly clauses: BoundClauses
  /** Type of a row as a value of a nested statement. */
  readonly rowType: ValueType
  /** Whether the result always has one row: aggregates without GROUP BY. */
  readonly isSingle: boolean
}

export function bindSelect(statement: SelectStatement, binder: Binder): BoundSelect {
  let source = bindSource(statement.source, binder)
  if (source.kind !== 'class')
    source = { ...source, statements: objectStatements(statement.source, source.references, binder) }
  const slot = binder.newSlot()
  const self: ValueType = { kind: 'reference', cls: source.cls }
  const scope = sourceScope(slot, self, statement.source.alias)
  const clauses = bindClauses(statement, scope, binder)
  refuseAttributeNames(statement, source, binder)
  return { source, slot, clauses, ...rowTypeOf(clauses, self, statement) }
}

/** LOOKUP returns one reference, that of the object with the lowest OID. */
export function bindLookup(statement: LookupStatement, binder: Binder): BoundSelect {
  const source = withVariableRows(bindSource(statement.source, binder), statement.source, binder)
  const slot = binder.newSlot()
  const rowType: ValueType = { kind: 'reference', cls: source.cls }
  const where =
    statement.where === undefined
      ? undefined
      : bindWhere(statement.where, sourceScope(slot, rowType, statement.source.alias), binder)
  const clauses = { ...noClauses, where }
  return { source, slot, clauses, rowType, isSingle: true }
}

export const noClauses: BoundClauses = {
  where: undefined,
  groupBy: undefined,
  aggregates: [],
  having: undefined,
  windows: [],
  orderBy: [],
  skip: undefined,
  take: undefined,
  projections: undefined,
  isWithAll: false,
  distinct: undefined,
}

/** Objects for `RETURN *`, values for one projection, records for several. */
export function rowTypeOf(
  clauses: BoundClauses,
  self: ValueType,
  { unionPart }: Returned,
): { rowType: ValueType; isSingle: boolean } {
  const { projections, groupBy } = clauses
  const isSingle = unionPart === undefined && groupBy !== undefined && groupBy.length === 0 && projections?.length === 1
  const [only] = projections ?? []
  if (projections === undefined) return { rowType: self, isSingle: false }
  if (only !== undefined && projections.length === 1) return { rowType: only.expression.type, isSingle }
  const record: RecordType = {
    kind: 'record',
    fields: projections.map(({ name, expression }) => ({ name, type: expression.type })),
  }
  return { rowType: record, isSingle: false }
}

export function bindSource(source: Source, binder: Binder): BoundSource {
  const path = source.kind === 'class' && !source.isOnly ? pathAround(source.className, binder) : undefined
  if (source.kind === 'class' && path === undefined) {
    const cls = resolveReferenceable(binder, source.className, ['query'], true)
    return { kind: 'class', cls, classes: source.isOnly ? new ClassSet([cls]) : withSubclasses(cls) }
  }
  const references = path ?? binder.bind((source as ReferencesSource).references, emptyScope)
  return referencesSource(references, source, binder)
}

/** Binds rows that are records of a statement or a variable. Returns undefined for a source of objects. */
export function bindRowsSource(
  source: Source,
  binder: Binder,
): { rows: Bound; row: ValueType; isWrapped: boolean; isMany: boolean } | undefined {
  if (source.kind !== 'references') return undefined
  const rows = binder.bind(source.references, emptyScope)
  const { type } = rows
  if (type.kind === 'null' || type.kind === 'map') return undefined
  const { references } = source
  const isOneValue = references.kind === 'nested' && binder.isSingleWithin(references.statement)
  const element = type.kind === 'collection' ? type.element : type
  // A single value that is a list of references is a source of objects.
  const isMany = type.kind === 'collection' && (!isOneValue || isReference(element))
  const row = isMany ? element : type
  const union = references.kind === 'union' ? references : undefined
  const statement = references.kind === 'nested' ? references.statement : union?.parts[0]
  const [only, second] =
    statement?.kind === 'select' || statement?.kind === 'match' ? (statement.projections ?? []) : []
  const isColumn = union !== undefined && only !== undefined
  if (!isColumn && (isReference(row) || row.kind === 'null')) return undefined
  if (only !== undefined && second === undefined) {
    return { rows, row: { kind: 'record', fields: [{ name: only.name, type: row }] }, isWrapped: true, isMany }
  }
  const isRecord = row.kind === 'record' || row.kind === 'embedded' || row.kind === 'edge'
  return isRecord || type.kind === 'collection' ? { rows, row, isWrapped: false, isMany } : undefined
}

function referencesSource(references: Bound, source: Source, binder: Binder): BoundSource {
  const element = references.type.kind === 'collection' ? references.type.element : references.type
  const type = isReference(element) ? element : coerced(references, { kind: 'reference', cls: null }, binder).type
  if (!isReference(type))
    throw binder.error(source, `a source is a class or references, not ${aTypeName(references.type)}`)
  const { cls } = type
  // A literal OID does not determine its class, without which attribute names cannot be resolved.
  if (cls === null)
    throw binder.error(references, 'the class of the objects is not known here: write FROM a class WHERE $$ID = …')
  return { kind: 'references', cls, references }
}

/** Binds `c.orders` within a statement whose outer rows have a `c`. */
function pathAround(name: QualifiedName, binder: Binder): Bound | undefined {
  const { root, path } = pathWritten(name)
  return binder.outer !== undefined && isNameAround(root, binder.outer) ? binder.capture(path, binder.outer) : undefined
}

export function bindWhere(expression: Expression, scope: Scope, binder: Binder): Bound {
  const where = coerced(binder.bind(expression, scope), booleanType, binder)
  if (where.type.kind === 'boolean' || where.type.kind === 'null') return where
  throw binder.error(expression, `a predicate is true or false, not ${aTypeName(where.type)}`)
}

/** `scope` is that of one row. */
export function bindClauses(clauses: Clauses & Returned, scope: Scope, binder: Binder): BoundClauses {
  const { projections, isDistinct, isWithAll } = clauses
  const where = clauses.where === undefined ? undefined : bindWhere(clauses.where, scope, binder)
  const groupBy = clauses.groupBy.map((expression) => bindGroupKey(expression, scope, binder, projections))
  const aggregates: BoundAggregate[] = []
  const collector = { all: aggregates, places: new Map<string, number>() }
  const groupKeys = groupBy.length === 0 ? undefined : new Set(groupBy.map((key) => boundKey(key, binder.text)))
  const windows: BoundWindow[] = []
  const rows: Scope = { ...scope, aggregates: collector, groupKeys, windows }
  const bound = projections?.map((projection) => bindProjection(projection, rows, binder, isDistinct))
  if (bound !== undefined && clauses.unionPart !== 'other') refuseSameNames(bound, projections ?? [], binder)
  const named: Scope = { ...rows, aliases: new Map(bound?.map(({ name, expression }) => [name, expression])) }
  const having = clauses.having === undefined ? undefined : bindHaving(clauses.having, named, binder)
  const distinct = isDistinct ? distinctKeys(bound, scope, binder, isWithAll) : undefined
  const keys = distinct === undefined ? undefined : new Set(distinct.map((key) => boundKey(key, binder.text)))
  const orderBy = clauses.orderBy.map(({ expression, isDescending }) => {
    const item = bindOrderItem(expression, isDescending, named, binder, projections)
    return keys === undefined ? item : returnedItem(item, expression, keys, named, binder)
  })
  const isGrouped = groupBy.length > 0 || aggregates.length > 0
  const all: BoundClauses = {
    where,
    groupBy: isGrouped ? groupBy : undefined,
    aggregates,
    having,
    windows,
    orderBy,
    skip: bindLimit(clauses.skip, rows, binder),
    take: bindLimit(clauses.take, rows, binder),
    projections: bound,
    isWithAll,
    distinct,
  }
  if (all.groupBy?.length === 0 && binder.dialect === 'ashlar') refuseUngroupedValues(all, scope, binder)
  return all
}

/** HAVING is evaluated before window functions. */
function bindHaving(expression: Expression, scope: Scope, binder: Binder): Bound {
  const having = bindWhere(expression, { ...scope, windows: undefined }, binder)
  if (hasWindow(having)) throw binder.error(expression, windowRule)
  return having
}

function hasWindow(bound: Bound): boolean {
  return bound.kind === 'window' || operandsOf(bound).some(hasWindow)
}

export function bindOrder(
  { orderBy, skip, take }: OrderClauses,
  scope: Scope,
  binder: Binder,
): Pick<BoundClauses, 'orderBy' | 'skip' | 'take'> {
  return {
    orderBy: orderBy.map(({ expression, isDescending }) => bindOrderItem(expression, isDescending, scope, binder)),
    skip: bindLimit(skip, scope, binder),
    take: bindLimit(take, scope, binder),
  }
}

export function bindLimit(limit: LimitClause | undefined, scope: Scope, binder: Binder): BoundLimit | undefined {
  if (limit === undefined) return undefined
  if (limit.kind === 'while') return { kind: 'while', expression: bindWhere(limit.expression, scope, binder) }
  const count = binder.bind(limit.expression, scope)
  if (count.type.kind === 'integer' && isConstant(count)) return { kind: 'count', expression: count }
  throw binder.error(limit.expression, 'a number of rows must be an integer that is the same for all of them')
}

/** For DISTINCT, the reference to nothing is null. */
export function bindProjection(
  { expression, name }: Projection,
  scope: Scope,
  binder: Binder,
  isDistinct = false,
): BoundProjection {
  const bound = binder.bind(expression, scope)
  return { name, expression: isDistinct && bound.type.kind === 'reference' ? nothingAsNull(bound) : bound }
}

/** Distinct rows are compared by their columns, or by object if there are none. */
function distinctKeys(
  projections: readonly BoundProjection[] | undefined,
  { context }: Scope,
  binder: Binder,
  isWithAll = false,
): readonly Bound[] {
  for (const { expression } of projections ?? []) requireKey(expression.type, expression, 'DISTINCT takes', binder)
  const columns = projections?.map(({ expression }) => expression) ?? []
  if ((projections !== undefined && !isWithAll) || context === undefined) return columns
  return [{ kind: 'self', ...context, start: 0, end: 0 }, ...columns]
}

/** Rejects columns of `RETURN *, e AS x` that attributes of the object have as names. Throws QueryError. */
export function refuseAttributeNames({ projections, isWithAll }: Returned, source: BoundSource, binder: Binder): void {
  if (!isWithAll) return
  const { classes } = source.kind === 'class' ? source.classes : withSubclasses(source.cls)
  const reservedNames = new Set(['__class__', '__identifier__'])
  for (const cls of classes) for (const { outputName } of cls.attributes) reservedNames.add(outputName)
  for (const projection of projections ?? []) {
    if (!reservedNames.has(projection.name)) continue
    const name = projection.name.slice(0, 60)
    throw binder.error(projection, `objects have '${name}' already, which * returns; AS gives the column another name`)
  }
}

/** ORDER BY with DISTINCT may only use returned values; an attribute that is not returned yields its name to a column. Throws QueryError. */
function returnedItem(
  item: BoundOrderItem,
  written: Expression,
  distinct: ReadonlySet<string>,
  { aliases }: Scope,
  binder: Binder,
): BoundOrderItem {
  const { expression } = item
  if (expression.kind === 'constant' || expression.isColumn === true) return item
  if (distinct.has(boundKey(expression, binder.text))) return item
  const column = written.kind === 'name' ? aliases?.get(written.name) : undefined
  if (column === undefined)
    throw binder.error(expression, 'rows that are distinct are ordered by what RETURN has of them')
  const { start, end } = expression
  return { ...item, expression: { ...column, start, end, isColumn: true }, type: column.type }
}

export function refuseSameNames(
  bound: readonly BoundProjection[],
  projections: readonly Projection[],
  binder: Binder,
  areRows = true,
): void {
  const seen = new Set<string>()
  for (const [i, { name }] of bound.entries()) {
    const projection = projections[i]
    if (projection !== undefined && areRows && name === '__class__' && binder.dialect === 'objectivity') {
      throw binder.error(projection, `rows have '__class__' already in this dialect; AS gives another name`)
    }
    if (projection !== undefined && seen.has(name)) {
      throw binder.error(projection, `two columns are called '${name.slice(0, 60)}'; AS gives one another name`)
    }
    seen.add(name)
  }
}

/** Expands `RETURN *` of anything but objects to all names, followed by the columns. Throws QueryError for duplicate names. */
export function withAll(
  clauses: BoundClauses,
  named: readonly BoundProjection[],
  scope: Scope,
  binder: Binder,
): BoundClauses {
  const columns = clauses.projections ?? []
  const names = new Set(named.map(({ name }) => name))
  for (const { name, expression } of columns) {
    if (!names.has(name)) continue
    throw binder.error(expression, `'${name.slice(0, 60)}' is returned by * already; AS gives the column another name`)
  }
  const projections = [...named, ...columns]
  const distinct = clauses.distinct === undefined ? undefined : distinctKeys(projections, scope, binder)
  return { ...clauses, projections, isWithAll: false, distinct }
}
