/** What names mean where an expression stands, and what a binder works with. */
import type { AshlarError } from '../../errors.ts'
import type { RecordFormats } from '../../records/record-formats.ts'
import { recordFormats } from '../../records/record-formats.ts'
import type { Catalog, ClassAttribute, SchemaClass } from '../../schema/catalog.ts'
import { noOid } from '../../types/oid.ts'
import type { Alias, Expression, Span, Statement } from '../language/ast.ts'
import type { Dialect } from '../language/dialect.ts'
import { queryError } from '../language/query-error.ts'
import type { TextFormats } from '../values/text-format.ts'
import { isReference, typeOfSpec, type ValueType } from '../values/value-type.ts'
import type { Bound, BoundAggregate, BoundAttribute } from './bound.ts'
import { boundKey } from './bound-key.ts'

/** What bare names are looked up in: the object or embedded value in a slot, then what is around it. */
export interface Scope {
  readonly outer: Scope | undefined
  /** The context itself; undefined at the outermost level of MATCH, where only names are known. */
  readonly context: { readonly slot: number; readonly type: ValueType } | undefined
  /** Vertices, edges and walks by name. */
  readonly names: ReadonlyMap<string, Bound>
  /** Where aggregates over rows are collected; undefined where they cannot stand. */
  readonly aggregates: AggregateCollector | undefined
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
  slots = 0
  private readonly typeOfNested: (statement: Statement, binder: Binder) => ValueType
  private readonly bindExpression: (expression: Expression, scope: Scope, binder: Binder) => Bound

  constructor(
    text: string,
    dialect: Dialect,
    catalog: Catalog,
    variables: VariableTypes,
    textFormats: TextFormats,
    bindExpression: (expression: Expression, scope: Scope, binder: Binder) => Bound,
    typeOfNested: (statement: Statement, binder: Binder) => ValueType,
  ) {
    this.text = text
    this.dialect = dialect
    this.catalog = catalog
    this.formats = recordFormats(catalog)
    this.variables = variables
    this.textFormats = textFormats
    this.bindExpression = bindExpression
    this.typeOfNested = typeOfNested
  }

  bind(expression: Expression, scope: Scope): Bound {
    const bound = this.bindExpression(expression, scope, this)
    const isGroupKey = scope.groupKeys !== undefined && isReference(bound.type)
    return isGroupKey && scope.groupKeys.has(boundKey(bound, this.text)) ? nothingAsNull(bound) : bound
  }

  /** A statement whose value is worked out before this one's rows. */
  bindNested(statement: Statement): { readonly index: number; readonly type: ValueType } {
    const type = this.typeOfNested(statement, this)
    return { index: this.nested.push({ statement, type }) - 1, type }
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
