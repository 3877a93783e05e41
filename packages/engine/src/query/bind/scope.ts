/** What names mean where an expression stands, and what a binder works with. */
import type { AshlarError } from '../../errors.ts'
import { type RecordFormats, recordFormats } from '../../records/record-formats.ts'
import type { Catalog, ClassAttribute, SchemaClass } from '../../schema/catalog.ts'
import { noOid } from '../../types/oid.ts'
import type { Alias, Expression, Span, Statement } from '../language/ast.ts'
import type { Dialect } from '../language/dialect.ts'
import { queryError } from '../language/query-error.ts'
import type { TextFormats } from '../values/text-format.ts'
import { booleanType, isReference, typeOfSpec, type ValueType } from '../values/value-type.ts'
import type { Bound, BoundAggregate, BoundAttribute, BoundWindow } from './bound.ts'
import { boundKey } from './bound-key.ts'

/** What bare names are looked up in: the object or embedded value in a slot, then what is around it. */
export interface Scope {
  readonly outer: Scope | undefined
  /** The context itself; undefined at the outermost level of MATCH, where only names are known. */
  readonly context: { readonly slot: number; readonly type: ValueType } | undefined
  /** Of several sources: a bare name belongs to one of them. */
  readonly sources?: readonly { readonly slot: number; readonly type: ValueType }[]
  /** Vertices, edges and walks by name. */
  readonly names: ReadonlyMap<string, Bound>
  /** Where aggregates over rows are collected; undefined where they cannot stand. */
  readonly aggregates: AggregateCollector | undefined
  /** Where window functions are collected; undefined where they cannot stand. */
  readonly windows?: BoundWindow[] | undefined
  /** Of a group: what its rows have in common, by `boundKey`. The reference to nothing is null there. */
  readonly groupKeys?: ReadonlySet<string> | undefined
  /** Columns by their names: what a name means that nothing else has. */
  readonly aliases?: ReadonlyMap<string, Bound> | undefined
}

const noNames: ReadonlyMap<string, Bound> = new Map()

export interface AggregateCollector {
  readonly all: BoundAggregate[]
  /** Their places, by how they are written. */
  readonly places: Map<string, number>
}

export const emptyScope: Scope = { outer: undefined, context: undefined, names: noNames, aggregates: undefined }

export function contextScope(slot: number, type: ValueType, outer: Scope | undefined): Scope {
  return { outer, context: { slot, type }, names: noNames, aggregates: undefined }
}

/** Of the objects of a source in a slot, which may have a name. */
export function sourceScope(slot: number, type: ValueType, alias: Alias | undefined): Scope {
  const scope = contextScope(slot, type, undefined)
  if (alias === undefined) return scope
  const { name, start, end } = alias
  return { ...scope, names: new Map([[name, { kind: 'self', slot, type, start, end }]]) }
}

/** The names of the scopes, without the objects whose attributes are seen bare. */
export function namesOf(scope: Scope | undefined): Scope | undefined {
  if (scope === undefined) return undefined
  const outer = namesOf(scope.outer)
  return scope.names.size === 0 ? outer : { outer, context: undefined, names: scope.names, aggregates: undefined }
}

/** The types of variables, by name. */
export interface VariableTypes {
  get(name: string): ValueType | undefined
  has(name: string): boolean
  keys(): Iterable<string>
}

/** What the type of a nested statement's value is; the statement is bound again when it is run. */
export interface NestedValue {
  readonly statement: Statement
  readonly type: ValueType
  /** Where its rows are those of a source: they are taken once, or held since others may take them as well. Undefined for a value. */
  source?: 'once' | 'held'
}

/** Where a statement stands that is run for the rows around it. */
export interface Outer {
  /** The names of these rows. */
  readonly scope: Scope
  readonly binder: Binder
  /** Whether the statement has a row is asked, not for its value. */
  readonly isExists: boolean
  /** Names that the statement has looked up here. */
  readonly lookedUp: Set<string>
}

/** A statement that is run for each row around it, with what it asks of the row; it is bound again when it is run. */
export interface InnerStatement {
  readonly statement: Statement
  readonly outer: Outer
  /** By the names of the variables that stand for them within it. */
  readonly captured: ReadonlyMap<string, Bound>
}

/** The type of a nested statement's value, and what it asks of the rows around it. */
export interface NestedBinding {
  readonly type: ValueType
  readonly captured: ReadonlyMap<string, Bound>
  /** An aggregate of all rows, which may be a list. */
  readonly isSingle: boolean
}

/** Binds one statement: its text for errors, its catalog, and the slots it has given out. */
export class Binder {
  readonly text: string
  readonly dialect: Dialect
  readonly catalog: Catalog
  readonly formats: RecordFormats
  readonly variables: VariableTypes
  readonly textFormats: TextFormats
  readonly nested: NestedValue[] = []
  readonly inner: InnerStatement[] = []
  /** Set for a statement within another one. */
  readonly outer: Outer | undefined
  /** What the statement asks of the rows around it, by the names of variables. */
  readonly captured = new Map<string, Bound>()
  slots = 0
  /** Whether the statement that it has bound has one value where a value stands, instead of one for each row. */
  isSingle = false
  /** Where statements are among `nested` and `inner`: there may be thousands. */
  private readonly places = {
    nested: new Map<Statement, number>(),
    inner: new Map<Statement, number>(),
    exists: new Map<Statement, number>(),
  }
  /** Statements that were bound, where they were: a second time at each of many levels would be a power of two. */
  private readonly boundWithin = new Map<Statement, { readonly scope: Scope; readonly binding: NestedBinding }>()
  private readonly bindWithin: (statement: Statement, outer: Outer) => NestedBinding
  private readonly bindExpression: (expression: Expression, scope: Scope, binder: Binder) => Bound

  constructor(
    text: string,
    dialect: Dialect,
    catalog: Catalog,
    variables: VariableTypes,
    textFormats: TextFormats,
    bindExpression: (expression: Expression, scope: Scope, binder: Binder) => Bound,
    bindWithin: (statement: Statement, outer: Outer) => NestedBinding,
    outer?: Outer,
  ) {
    this.text = text
    this.dialect = dialect
    this.catalog = catalog
    this.formats = recordFormats(catalog)
    this.variables = variables
    this.textFormats = textFormats
    this.bindExpression = bindExpression
    this.bindWithin = bindWithin
    this.outer = outer
  }

  bind(expression: Expression, scope: Scope): Bound {
    const bound = this.bindExpression(expression, scope, this)
    // Of a group, a reference that its rows have in common is null where it names nothing.
    const isGroupKey = scope.groupKeys !== undefined && isReference(bound.type)
    return isGroupKey && scope.groupKeys.has(boundKey(bound, this.text)) ? nothingAsNull(bound) : bound
  }

  /** A statement where a value stands: worked out before this one's rows, or where it names them, for each of them. */
  bindNested(statement: Statement, scope: Scope, { start, end }: Span): Bound {
    const outer = this.around(scope, false)
    const { type, captured } = this.bindOnce(statement, scope, outer)
    if (captured.size > 0) return this.bindInner({ statement, outer, captured }, type, { start, end })
    // It may be bound again, and used more than once.
    const index = this.places.nested.get(statement) ?? this.nested.push({ statement, type }) - 1
    this.places.nested.set(statement, index)
    return { kind: 'nested', index, type, start, end }
  }

  /** Whether a statement has a row; asked when the first row needs to know. */
  bindExists(statement: Statement, scope: Scope, span: Span): Bound {
    const outer = this.around(scope, true)
    const { captured } = this.bindOnce(statement, scope, outer)
    return this.bindInner({ statement, outer, captured }, booleanType, span)
  }

  private around(scope: Scope, isExists: boolean): Outer {
    return { scope: namesOf(scope) ?? emptyScope, binder: this, isExists, lookedUp: new Set() }
  }

  private bindOnce(statement: Statement, scope: Scope, outer: Outer): NestedBinding {
    const known = this.boundWithin.get(statement)
    if (known?.scope === scope) return known.binding
    const binding = this.bindWithin(statement, outer)
    this.boundWithin.set(statement, { scope, binding })
    return binding
  }

  /** Of a statement within this one that was bound. */
  isSingleWithin(statement: Statement): boolean {
    return this.boundWithin.get(statement)?.binding.isSingle === true
  }

  private bindInner(inner: InnerStatement, type: ValueType, { start, end }: Span): Bound {
    const { statement, outer } = inner
    const places = outer.isExists ? this.places.exists : this.places.inner
    const index = places.get(statement) ?? this.inner.push(inner) - 1
    places.set(statement, index)
    return { kind: 'inner', index, operands: [...inner.captured.values()], type, start, end }
  }

  /** A path that begins with a name of the rows around the statement: within it, a variable. */
  capture(path: Expression, { scope, binder }: Outer): Bound {
    const bound = binder.bind(path, scope)
    const { start, end } = path
    const name = `outer ${this.text.slice(start, end)}`
    if (!this.captured.has(name)) this.captured.set(name, bound)
    // A plan depends on its type, as on that of any variable.
    this.variables.get(name)
    return { kind: 'variable', name, type: bound.type, start, end }
  }

  newSlot(): number {
    return this.slots++
  }

  error(span: Span, message: string): AshlarError {
    return queryError(this.text, span, message)
  }

  attribute(cls: SchemaClass, found: ClassAttribute): BoundAttribute {
    const { index, linkStorage } = this.formats.of(cls).attribute(found.number)
    const { number, spec, outputName } = found
    return { cls, number, name: outputName, index, spec, linkStorage, type: typeOfSpec(spec, this.catalog) }
  }
}

/** The reference to nothing as null. */
export function nothingAsNull(reference: Bound): Bound {
  const { type, start, end } = reference
  return { kind: 'convert', operand: reference, convert: (oid) => (oid === noOid ? null : oid), type, start, end }
}
