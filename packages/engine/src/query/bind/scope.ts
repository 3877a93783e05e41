/** The scopes in which names are resolved, and the state of a binder. */
import type { AshlarError } from '../../errors.ts'
import { type RecordFormats, recordFormats } from '../../records/record-formats.ts'
import type { Catalog, ClassAttribute, SchemaClass } from '../../schema/catalog.ts'
import { noOid } from '../../types/oid.ts'
import type { AttributeNumber } from '../../types/type-spec.ts'
import type { Alias, Expression, Span, Statement } from '../language/ast.ts'
import type { Dialect } from '../language/dialect.ts'
import { queryError } from '../language/query-error.ts'
import type { ConvertScalar } from '../values/scalars/scalar-kind.ts'
import type { TextFormats } from '../values/text-format.ts'
import { booleanType, isReference, typeOfSpec, type ValueType } from '../values/value-type.ts'
import type { Bound, BoundAggregate, BoundAttribute, BoundWindow } from './bound.ts'
import { boundKey } from './bound-key.ts'

/** Bare names are resolved in the object or embedded value of a slot, then in the outer scope. */
export interface Scope {
  readonly outer: Scope | undefined
  /** Undefined at the outermost level of MATCH, in which only named elements are visible. */
  readonly context: { readonly slot: number; readonly type: ValueType } | undefined
  /** The sources of a join; a bare name belongs to one of them. */
  readonly sources?: readonly { readonly slot: number; readonly type: ValueType }[]
  /** Vertices, edges and walks by name. */
  readonly names: ReadonlyMap<string, Bound>
  /** Collects aggregates over rows; undefined if they are not allowed. */
  readonly aggregates: AggregateCollector | undefined
  /** Collects window functions; undefined if they are not allowed. */
  readonly windows?: BoundWindow[] | undefined
  /** The keys of the group by `boundKey`; the reference to nothing is null among them. */
  readonly groupKeys?: ReadonlySet<string> | undefined
  /** Whether NEXT is allowed, which draws from a sequence. */
  readonly mayDraw?: true | undefined
  /** Columns by name, used if a name has no other meaning. */
  readonly aliases?: ReadonlyMap<string, Bound> | undefined
}

const noNames: ReadonlyMap<string, Bound> = new Map()

export interface AggregateCollector {
  readonly all: BoundAggregate[]
  /** Indexes of the aggregates by source text. */
  readonly places: Map<string, number>
}

export const emptyScope: Scope = { outer: undefined, context: undefined, names: noNames, aggregates: undefined }

export function contextScope(slot: number, type: ValueType, outer: Scope | undefined): Scope {
  return { outer, context: { slot, type }, names: noNames, aggregates: undefined }
}

/** The scope of a source's objects, with an optional alias. */
export function sourceScope(slot: number, type: ValueType, alias: Alias | undefined): Scope {
  const scope = contextScope(slot, type, undefined)
  if (alias === undefined) return scope
  const { name, start, end } = alias
  return { ...scope, names: new Map([[name, { kind: 'self', slot, type, start, end }]]) }
}

/** The names of the scopes, without unqualified attributes. */
export function withoutContext(scope: Scope | undefined): Scope | undefined {
  if (scope === undefined) return undefined
  const outer = withoutContext(scope.outer)
  return scope.names.size === 0 ? outer : { outer, context: undefined, names: scope.names, aggregates: undefined }
}

export interface VariableTypes {
  /** Restricts the plan to values of the variable that can be converted. Throws what `convert` throws for the current value. */
  requireConvertible(name: string, convert: ConvertScalar): void
  get(name: string): ValueType | undefined
  has(name: string): boolean
  keys(): Iterable<string>
}

/** The type of a nested statement's value; the statement is bound again when it runs. */
export interface NestedValue {
  readonly statement: Statement
  readonly type: ValueType
  /** Set if the rows are used as a source: streamed once, or held because there are several uses. Undefined for a value. */
  source?: 'once' | 'held'
}

/** The surroundings of a correlated statement. */
export interface Outer {
  /** The names of the outer rows. */
  readonly scope: Scope
  readonly binder: Binder
  /** Whether only the existence of a row is needed. */
  readonly isExists: boolean
  /** Names that the statement resolved here. */
  readonly lookedUp: Set<string>
}

/** A correlated statement and the outer values that it uses; it is bound again when it runs. */
export interface InnerStatement {
  readonly statement: Statement
  readonly outer: Outer
  /** Outer values by the names of the variables that replace them. */
  readonly captured: ReadonlyMap<string, Bound>
}

/** The type of a nested statement's value, and the outer values that it uses. */
export interface NestedBinding {
  readonly type: ValueType
  readonly captured: ReadonlyMap<string, Bound>
  /** Whether the value is an aggregate of all rows, which may be a list. */
  readonly isSingle: boolean
}

/** Binds one statement; holds its text for errors, its catalog, and its slots. */
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
  /** The outer values that the statement uses, by the names of variables. */
  readonly captured = new Map<string, Bound>()
  /** Called with each attribute and class that a name resolves to, also if that binding is discarded later. */
  onName: ((span: Span, found: ClassAttribute | SchemaClass) => void) | undefined
  /** Nesting depth of computed attributes during binding. */
  computedDepth = 0
  /** Length of the expressions that were bound in place of computed attributes. */
  computedCharacters = 0
  /** While classes are being defined: whether the expressions of computed attributes follow references. */
  readonly followingTexts = new Map<AttributeNumber, boolean>()
  slots = 0
  /** Whether the bound statement yields one value as an expression, instead of one per row. */
  isSingle = false
  /** Indexes of statements in `nested` and `inner`, of which there may be thousands. */
  private readonly places = {
    nested: new Map<Statement, number>(),
    inner: new Map<Statement, number>(),
    exists: new Map<Statement, number>(),
  }
  /** Bindings of nested statements; binding them twice at each level would be exponential. */
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
    // Within a group, a reference to nothing among the keys is null.
    const isGroupKey = scope.groupKeys !== undefined && isReference(bound.type)
    return isGroupKey && scope.groupKeys.has(boundKey(bound, this.text)) ? nothingAsNull(bound) : bound
  }

  /** Binds a statement as a value: evaluated before this statement's rows, or for each of them if it uses their names. */
  bindNested(statement: Statement, scope: Scope, { start, end }: Span): Bound {
    const outer = this.around(scope, false)
    const { type, captured } = this.bindOnce(statement, scope, outer)
    if (captured.size > 0) return this.bindInner({ statement, outer, captured }, type, { start, end })
    // The statement may be bound again and used more than once.
    const index = this.places.nested.get(statement) ?? this.nested.push({ statement, type }) - 1
    this.places.nested.set(statement, index)
    return { kind: 'nested', index, type, start, end }
  }

  /** Binds EXISTS of a statement, evaluated when the first row needs it. */
  bindExists(statement: Statement, scope: Scope, span: Span): Bound {
    const outer = this.around(scope, true)
    const { captured } = this.bindOnce(statement, scope, outer)
    return this.bindInner({ statement, outer, captured }, booleanType, span)
  }

  private around(scope: Scope, isExists: boolean): Outer {
    return { scope: withoutContext(scope) ?? emptyScope, binder: this, isExists, lookedUp: new Set() }
  }

  private bindOnce(statement: Statement, scope: Scope, outer: Outer): NestedBinding {
    const cached = this.boundWithin.get(statement)
    if (cached?.scope === scope) return cached.binding
    const binding = this.bindWithin(statement, outer)
    this.boundWithin.set(statement, { scope, binding })
    return binding
  }

  /** For a nested statement that has been bound. */
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

  /** Replaces a path that begins with a name of the outer rows by a variable. */
  capture(path: Expression, { scope, binder }: Outer): Bound {
    const bound = binder.bind(path, scope)
    const { start, end } = path
    const name = `outer ${this.text.slice(start, end)}`
    if (!this.captured.has(name)) this.captured.set(name, bound)
    // Registers the type of the variable, on which the plan depends.
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
    return { cls, number, name: outputName, index, spec, linkStorage, type: typeOfSpec(spec, this.catalog), found }
  }
}

/** Converts the reference to nothing to null. */
export function nothingAsNull(reference: Bound): Bound {
  const { type, start, end } = reference
  return { kind: 'convert', operand: reference, convert: (oid) => (oid === noOid ? null : oid), type, start, end }
}
