/** Bound expressions: every name is resolved and every type known. */

import type { ClassAttribute, SchemaClass } from '../../schema/catalog.ts'
import type { ClassSet } from '../../schema/class-set.ts'
import type { LinkStorage } from '../../types/link-storage.ts'
import type { AttributeNumber, TypeSpec } from '../../types/type-spec.ts'
import type { IntervalUnit, Span } from '../language/ast.ts'
import type { OperatorName } from '../language/operators.ts'
import type { Equals } from '../values/compare.ts'
import type { Compare } from '../values/scalars/scalar-kind.ts'
import type { ScalarType, ValueType } from '../values/value-type.ts'

/** An attribute of a class and all its subclasses, at the same position in each. */
export interface BoundAttribute {
  readonly cls: SchemaClass
  readonly number: AttributeNumber
  readonly name: string
  readonly index: number
  readonly spec: TypeSpec
  readonly linkStorage: LinkStorage | undefined
  readonly type: ValueType
  /** Defined if the attribute was resolved by name: its definition in the class. */
  readonly found?: ClassAttribute
}

interface Node extends Span {
  readonly type: ValueType
  /** Set if the expression was written as the name of a column. */
  readonly isColumn?: true
}

export type Bound =
  | (Node & { readonly kind: 'constant'; readonly value: unknown; readonly digits?: string })
  | (Node & { readonly kind: 'variable'; readonly name: string })
  | (Node & { readonly kind: 'now' })
  /** The caller as a value of `userType`; null if anonymous. */
  | (Node & { readonly kind: 'user' })
  /** The value of a statement that is run before this one. */
  | (Node & { readonly kind: 'nested'; readonly index: number })
  /** The value of a statement that is run per row, or whether it has a row. */
  | (Node & {
      readonly kind: 'inner'
      /** Number among the correlated statements. */
      readonly index: number
      /** The values of the row that the statement uses. */
      readonly operands: readonly Bound[]
    })
  /** A value of an already bound row of a join, constant for all rows that are joined with it. */
  | (Node & { readonly kind: 'given'; readonly operand: Bound })
  | (Node & { readonly kind: 'self'; readonly slot: number })
  /** The content of a slot, such as an edge or a walk. */
  | (Node & { readonly kind: 'slot'; readonly slot: number })
  | (Node & { readonly kind: 'attribute'; readonly slot: number; readonly attribute: BoundAttribute })
  /** An attribute of the object to which a reference leads. */
  | (Node & { readonly kind: 'follow'; readonly object: Bound; readonly attribute: BoundAttribute })
  /** A field of an embedded value or a record, at a position of its array. */
  | (Node & { readonly kind: 'field'; readonly object: Bound; readonly index: number; readonly name: string })
  | (Node & { readonly kind: 'edgeField'; readonly object: Bound; readonly field: string })
  /** `body` for every element; flattened one level if the body is a collection. */
  | (Node & { readonly kind: 'each'; readonly collection: Bound; readonly slot: number; readonly body: Bound })
  | (Node & { readonly kind: 'elementAt'; readonly collection: Bound; readonly index: Bound })
  | (Node & { readonly kind: 'valueOfKey'; readonly map: Bound; readonly key: Bound })
  | (Node & {
      readonly kind: 'slice'
      readonly collection: Bound
      readonly from: Bound | undefined
      readonly to: Bound | undefined
    })
  | (Node & { readonly kind: 'choose'; readonly collection: Bound; readonly slot: number; readonly predicate: Bound })
  | (Node & {
      readonly kind: 'logical'
      readonly operator: 'and' | 'or' | 'xor' | 'not'
      readonly operands: readonly Bound[]
    })
  | (Node & {
      readonly kind: 'compare'
      readonly operator: 'equal' | 'notEqual' | 'less' | 'lessOrEqual' | 'greater' | 'greaterOrEqual'
      readonly left: Bound
      readonly right: Bound
      readonly equals: Equals | undefined
      readonly compare: Compare | undefined
    })
  | (Node & {
      readonly kind: 'arithmetic'
      readonly operator: OperatorName
      readonly left: Bound
      readonly right: Bound
      readonly calculate: (one: never, other: never) => unknown
    })
  | (Node & {
      readonly kind: 'unary'
      readonly operator: OperatorName
      readonly operand: Bound
      readonly calculate: (value: never) => unknown
    })
  | (Node & { readonly kind: 'contains'; readonly text: Bound; readonly part: Bound })
  /** `body` with the slot set to the value, which is evaluated once. */
  | (Node & { readonly kind: 'once'; readonly slot: number; readonly value: Bound; readonly body: Bound })
  | (Node & {
      readonly kind: 'matches'
      readonly language: 'regularExpression' | 'like'
      readonly text: Bound
      readonly pattern: Bound
      readonly isIgnoringCase: boolean
      readonly isNegated: boolean
    })
  /** A number of a sequence; each evaluation draws a new one. */
  | (Node & { readonly kind: 'next'; readonly sequence: string })
  | (Node & {
      readonly kind: 'call'
      readonly name: string
      readonly operands: readonly Bound[]
      readonly readers: readonly (((value: unknown) => unknown) | undefined)[]
      readonly calculate: (...values: never[]) => unknown
      /** Whether `calculate` has a `TextRoom` as its first parameter. */
      readonly takesRoom: boolean
      readonly isVolatile: boolean
    })
  /** The concatenated texts of the values that are not null. */
  | (Node & { readonly kind: 'concat'; readonly operands: readonly Bound[] })
  | (Node & {
      readonly kind: 'case'
      readonly branches: readonly { readonly condition: Bound; readonly value: Bound }[]
      readonly otherwise: Bound | undefined
    })
  | (Node & { readonly kind: 'coalesce'; readonly operands: readonly Bound[] })
  | (Node & { readonly kind: 'isNull'; readonly operand: Bound })
  | (Node & { readonly kind: 'isValid'; readonly operand: Bound })
  | (Node & { readonly kind: 'isEmpty'; readonly operand: Bound })
  /** `v IN c`, ANY_EQUAL, ALL_EQUAL, OF_EQUAL, and ANY, ALL, OF, whose predicate sees the element in `slot`. */
  | (Node & {
      /** Rows of several statements: lists of them, or single ones. */
      readonly kind: 'union'
      readonly operands: readonly Bound[]
      readonly distinctParts: number
      readonly types: readonly ValueType[]
      /** Whether a row is the value of its only column instead of a record. */
      readonly isOneColumn: boolean
    })
  | (Node & {
      readonly kind: 'quantifier'
      readonly mode: 'any' | 'all' | 'atLeast'
      readonly count: Bound | undefined
      readonly collection: Bound
      readonly test:
        | { readonly kind: 'equal'; readonly value: Bound; readonly equals: Equals }
        | { readonly kind: 'predicate'; readonly slot: number; readonly predicate: Bound }
    })
  /** The output form of an object, of each element of a collection, or of each value of a map. */
  | (Node & {
      readonly kind: 'shape'
      readonly object: Bound
      readonly slot: number
      /** Whether the whole object is returned, followed by the fields. */
      readonly hasWildcard: boolean
      readonly fields: readonly BoundProjection[]
      readonly where: Bound | undefined
      readonly orderBy: readonly BoundOrderItem[]
      readonly skip: Bound | undefined
      readonly take: Bound | undefined
    })
  /** An aggregate over the elements of one object's collection. */
  | (Node & {
      readonly kind: 'fold'
      readonly function: AggregateName
      readonly collection: Bound
      /** Whether the size of the collection itself is requested, including null elements. */
      readonly countsNulls: boolean
      readonly isDistinct: boolean
      readonly fraction: Bound | undefined
    })
  /** The result of an aggregate over rows, computed after the last one. */
  | (Node & { readonly kind: 'aggregate'; readonly index: number })
  /** The result of a window function for the current row. */
  | (Node & { readonly kind: 'window'; readonly index: number })
  | (Node & { readonly kind: 'convert'; readonly operand: Bound; readonly convert: (value: unknown) => unknown })
  | (Node & { readonly kind: 'instanceOf'; readonly operand: Bound; readonly cls: SchemaClass })
  | (Node & { readonly kind: 'elements'; readonly elements: readonly Bound[] })
  | (Node & { readonly kind: 'pairs'; readonly pairs: readonly { readonly key: Bound; readonly value: Bound }[] })
  | (Node & {
      readonly kind: 'interval'
      readonly parts: readonly { readonly unit: IntervalUnit; readonly amount: Bound }[]
    })
  | (Node & { readonly kind: 'structure'; readonly cls: SchemaClass; readonly assignments: readonly BoundAssignment[] })
  /** Creates a new object each time the value is used. */
  | (Node & { readonly kind: 'create'; readonly create: BoundCreate })

export type AggregateName = 'COUNT' | 'SUM' | 'AVG' | 'MIN' | 'MAX' | 'COLLECT' | 'STDDEV' | 'MEDIAN' | 'PERCENTILE'

export interface BoundAggregate extends Span {
  readonly function: AggregateName
  /** Undefined for COUNT(). */
  readonly operand: Bound | undefined
  readonly isDistinct: boolean
  /** The fraction of PERCENTILE, constant for all rows. */
  readonly fraction: Bound | undefined
  readonly type: ValueType
}

export type WindowName =
  | AggregateName
  | 'ROW_NUMBER'
  | 'RANK'
  | 'DENSE_RANK'
  | 'LAG'
  | 'LEAD'
  | 'FIRST_VALUE'
  | 'LAST_VALUE'

/** Its rows share the values of `partitionBy` and are sorted by `orderBy`. */
export interface BoundWindow extends Span {
  readonly function: WindowName
  readonly operand: Bound | undefined
  readonly isDistinct: boolean
  readonly fraction: Bound | undefined
  /** Row distance of LAG and LEAD, constant for all rows, and the value if no such row exists. */
  readonly distance: Bound | undefined
  readonly otherwise: Bound | undefined
  readonly partitionBy: readonly Bound[]
  readonly orderBy: readonly BoundOrderItem[]
  /** Source text within the parentheses of OVER; windows with equal text share their rows. */
  readonly over: string
  readonly type: ValueType
}

/** `path` is the attribute, then attributes inside embedded objects. */
export interface BoundAssignment extends Span {
  readonly path: readonly BoundAttribute[]
  readonly value: Bound
}

export interface BoundCreate extends Span {
  readonly cls: SchemaClass
  readonly assignments: readonly BoundAssignment[]
}

export interface BoundProjection {
  readonly name: string
  readonly expression: Bound
}

export type BoundSource =
  | {
      readonly kind: 'class'
      readonly cls: SchemaClass
      /** The class and, without ONLY, its subclasses. */
      readonly classes: ClassSet
    }
  /** References evaluated before the rows. */
  | {
      readonly kind: 'references'
      readonly cls: SchemaClass
      readonly references: Bound
      /** Set if the references are streamed from statements. */
      readonly statements?: RowStatements | undefined
    }

/** Nested statements by number, or a variable that may hold one; rows of the first `distinctParts` are deduplicated. */
export interface RowStatements {
  readonly indexes: readonly number[]
  readonly variable?: string
  readonly distinctParts: number
  readonly types: readonly ValueType[]
  readonly isOneColumn: boolean
}

export interface BoundOrderItem {
  readonly expression: Bound
  readonly type: ScalarType | ValueType
  readonly isDescending: boolean
}

export interface BoundLimit {
  readonly kind: 'count' | 'while'
  readonly expression: Bound
}

/** The clauses from WHERE to TAKE, and the projections. */
export interface BoundClauses {
  readonly where: Bound | undefined
  /** Undefined without GROUP BY and aggregates; empty if all rows form one group. */
  readonly groupBy: readonly Bound[] | undefined
  readonly aggregates: readonly BoundAggregate[]
  readonly having: Bound | undefined
  readonly windows: readonly BoundWindow[]
  readonly orderBy: readonly BoundOrderItem[]
  readonly skip: BoundLimit | undefined
  readonly take: BoundLimit | undefined
  /** Undefined for `RETURN *`. */
  readonly projections: readonly BoundProjection[] | undefined
  /** Whether `RETURN *, e AS x` returns the object with the projections. */
  readonly isWithAll: boolean
  /** Rows are deduplicated by these; undefined without DISTINCT. */
  readonly distinct: readonly Bound[] | undefined
}

/** Whether the value may change without a write, by time or chance. */
export function isUnsteady(bound: Bound): boolean {
  return isTimeOrChance(bound) || operandsOf(bound).some(isUnsteady)
}

/** Ignores the parts of the expression. */
export function isTimeOrChance(bound: Bound): boolean {
  return bound.kind === 'now' || (bound.kind === 'call' && bound.isVolatile)
}

/** The parts of an expression, one level down. */
export function operandsOf(bound: Bound): readonly Bound[] {
  switch (bound.kind) {
    case 'constant':
    case 'variable':
    case 'now':
    case 'user':
    case 'nested':
    case 'self':
    case 'slot':
    case 'attribute':
    case 'aggregate':
    case 'window':
    case 'next':
      return []
    case 'follow':
    case 'field':
    case 'edgeField':
      return [bound.object]
    case 'each':
    case 'elementAt':
    case 'valueOfKey':
    case 'slice':
    case 'choose':
      return partsOfElements(bound)
    case 'once':
      return [bound.value, bound.body]
    case 'logical':
    case 'call':
    case 'concat':
    case 'coalesce':
    case 'inner':
    case 'union':
      return bound.operands
    case 'compare':
    case 'arithmetic':
      return [bound.left, bound.right]
    case 'unary':
    case 'isNull':
    case 'isValid':
    case 'isEmpty':
    case 'given':
    case 'convert':
    case 'instanceOf':
      return [bound.operand]
    case 'contains':
      return [bound.text, bound.part]
    case 'matches':
      return [bound.text, bound.pattern]
    case 'quantifier':
      return partsOfQuantifier(bound)
    case 'fold':
      return bound.fraction === undefined ? [bound.collection] : [bound.collection, bound.fraction]
    case 'shape':
      return partsOfShape(bound)
    case 'case':
      return partsOfCase(bound)
    case 'elements':
      return bound.elements
    case 'pairs':
      return bound.pairs.flatMap(({ key, value }) => [key, value])
    case 'interval':
      return bound.parts.map(({ amount }) => amount)
    case 'structure':
    case 'create':
      return (bound.kind === 'create' ? bound.create : bound).assignments.map(({ value }) => value)
  }
}

function partsOfElements(
  bound: Extract<Bound, { kind: 'each' | 'elementAt' | 'valueOfKey' | 'slice' | 'choose' }>,
): readonly Bound[] {
  switch (bound.kind) {
    case 'each':
      return [bound.collection, bound.body]
    case 'elementAt':
      return [bound.collection, bound.index]
    case 'valueOfKey':
      return [bound.map, bound.key]
    case 'slice':
      return [bound.collection, bound.from, bound.to].filter((part) => part !== undefined)
    case 'choose':
      return [bound.collection, bound.predicate]
  }
}

function partsOfQuantifier({ test, count, collection }: Extract<Bound, { kind: 'quantifier' }>): readonly Bound[] {
  const tested = test.kind === 'equal' ? test.value : test.predicate
  return count === undefined ? [collection, tested] : [count, collection, tested]
}

function partsOfCase({ branches, otherwise }: Extract<Bound, { kind: 'case' }>): readonly Bound[] {
  const parts = branches.flatMap(({ condition, value }) => [condition, value])
  return otherwise === undefined ? parts : [...parts, otherwise]
}

function partsOfShape(bound: Extract<Bound, { kind: 'shape' }>): readonly Bound[] {
  const { object, fields, where, orderBy, skip, take } = bound
  const values = [...fields, ...orderBy].map(({ expression }) => expression)
  return [object, ...values, where, skip, take].filter((part) => part !== undefined)
}

/** Whether the value is the same for every row of a statement. */
export function isConstant(bound: Bound): boolean {
  return constancy(bound) >= 0
}

/** Caches constancy, which would otherwise be recomputed from every depth; only at some levels, because an entry per part burdens the GC. */
const constancies = new WeakMap<Bound, number>()
const levelsBetweenNotes = 4

/** The nesting depth that was examined for a constant expression; otherwise its bitwise complement, which is negative. */
function constancy(bound: Bound): number {
  switch (bound.kind) {
    case 'self':
    case 'slot':
    case 'attribute':
    case 'aggregate':
    case 'window':
    case 'create':
    case 'inner':
    case 'next':
      return ~0
    case 'given':
      return 0
  }
  if (bound.kind === 'call' && bound.isVolatile) return ~0
  const parts = operandsOf(bound)
  if (parts.length === 0) return 0
  const cached = constancies.get(bound)
  if (cached !== undefined) return cached
  let height = 0
  let isConstantPart = true
  for (const part of parts) {
    const partDepth = constancy(part)
    isConstantPart = partDepth >= 0
    height = Math.max(height, 1 + (isConstantPart ? partDepth : ~partDepth))
    if (!isConstantPart) break
  }
  const depth = isConstantPart ? height : ~height
  if (height % levelsBetweenNotes === 0) constancies.set(bound, depth)
  return depth
}

/** The parts of `a AND b AND c`. */
export function conjunctsOf(where: Bound | undefined): readonly Bound[] {
  if (where === undefined) return []
  return where.kind === 'logical' && where.operator === 'and' ? where.operands.flatMap(conjunctsOf) : [where]
}
