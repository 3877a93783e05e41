/** Syntax tree of DO: plain data with positions in the text and unresolved names. */
import type { Oid } from '../../types/oid.ts'
import type { OperatorName } from './operators.ts'

/** Offsets into the text: start ≤ end, end exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

export type LiteralValue =
  | { readonly type: 'null'; readonly value: null }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'integer'; readonly value: number | bigint }
  /** `digits`: as written. `isFraction`: the number has a fraction that its double lost, as 1e-400. */
  | { readonly type: 'real'; readonly value: number; readonly digits: string; readonly isFraction?: boolean }
  | { readonly type: 'date' | 'time' | 'datetime'; readonly value: number }
  | { readonly type: 'datetimeoffset'; readonly value: { readonly ticks: number; readonly offsetMinutes: number } }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'oid'; readonly value: Oid }

/** A name of a class or attribute: parts as written, joined by dots or `::`. */
export interface QualifiedName extends Span {
  readonly text: string
}

export type Expression =
  | LiteralExpression
  | NameExpression
  | MemberExpression
  | SubscriptExpression
  | SliceExpression
  | VariableExpression
  | SystemExpression
  | OperationExpression
  | CallExpression
  | CaseExpression
  | WindowExpression
  | CastExpression
  | ElementsExpression
  | PairsExpression
  | IntervalExpression
  | StructureExpression
  | NestedExpression
  | UnionExpression
  | ShapeExpression

export interface LiteralExpression extends Span {
  readonly kind: 'literal'
  readonly literal: LiteralValue
}
/** `name` or `Base::name`. */
export interface NameExpression extends Span {
  readonly kind: 'name'
  readonly name: string
}
export interface MemberExpression extends Span {
  readonly kind: 'member'
  readonly object: Expression
  readonly name: string
  readonly nameSpan: Span
}
/** An index, key or predicate, depending on the type of the object. */
export interface SubscriptExpression extends Span {
  readonly kind: 'subscript'
  readonly object: Expression
  readonly subscript: Expression
}
export interface SliceExpression extends Span {
  readonly kind: 'slice'
  readonly object: Expression
  readonly from: Expression | undefined
  readonly to: Expression | undefined
}
export interface VariableExpression extends Span {
  readonly kind: 'variable'
  readonly name: string
}
export interface SystemExpression extends Span {
  readonly kind: 'system'
  readonly name: 'NOW' | 'ID' | 'THIS_REFERENCE' | 'USER'
}
export interface OperationExpression extends Span {
  readonly kind: 'operation'
  readonly operator: OperatorName
  readonly operands: readonly Expression[]
}
/** A function or aggregate; `name` is in upper case. */
export interface CallExpression extends Span {
  readonly kind: 'call'
  readonly name: string
  readonly operands: readonly Expression[]
  /** `COUNT(DISTINCT e)` and the like. */
  readonly isDistinct?: boolean
}
/** `RANK() OVER (PARTITION BY … ORDER BY …)`. */
export interface WindowExpression extends Span {
  readonly kind: 'window'
  readonly call: CallExpression
  readonly partitionBy: readonly Expression[]
  readonly orderBy: readonly OrderItem[]
  readonly over: Span
}
export interface CaseExpression extends Span {
  readonly kind: 'case'
  /** The value compared with each branch; undefined if branches have predicates. */
  readonly operand: Expression | undefined
  readonly branches: readonly { readonly when: Expression; readonly value: Expression }[]
  readonly otherwise: Expression | undefined
}
export interface CastExpression extends Span {
  readonly kind: 'cast'
  readonly operand: Expression
  readonly type: TypeExpression
}
export interface ElementsExpression extends Span {
  readonly kind: 'elements'
  readonly form: 'list' | 'set'
  readonly elements: readonly Expression[]
}
export interface PairsExpression extends Span {
  readonly kind: 'pairs'
  readonly pairs: readonly Pair[]
}
export interface Pair {
  readonly key: Expression
  readonly value: Expression
}
export interface IntervalExpression extends Span {
  readonly kind: 'interval'
  readonly parts: readonly { readonly unit: IntervalUnit; readonly amount: Expression }[]
}
export type IntervalUnit = 'days' | 'hours' | 'minutes' | 'seconds' | 'milliseconds'
/** `Address{city: 'X'}`: an embedded value. */
export interface StructureExpression extends Span {
  readonly kind: 'structure'
  readonly className: QualifiedName
  readonly assignments: readonly Assignment[]
}
/** `(LOOKUP …)`, or `CREATE …` as a value. */
export interface NestedExpression extends Span {
  readonly kind: 'nested'
  readonly statement: Statement
  /** Named by WITH, so it may have other uses. */
  readonly isNamed?: true
}

/** `FROM … UNION FROM …` as the source of a statement. */
export interface UnionExpression extends Span {
  readonly kind: 'union'
  /** ORDER BY, SKIP and TAKE belong to the enclosing statement. */
  readonly parts: readonly (SelectStatement | MatchStatement)[]
  /** The number of first parts whose rows are made distinct; 0 for UNION ALL throughout. */
  readonly distinctParts: number
}

/** `orders{number, total WHERE total > 10}` as a column or as an entry of another shape. */
export interface ShapeExpression extends Span {
  readonly kind: 'shape'
  readonly object: Expression
  /** `*`: all attributes, followed by the entries. */
  readonly hasWildcard: boolean
  readonly entries: readonly Projection[]
  readonly where: Expression | undefined
  readonly orderBy: readonly OrderItem[]
  readonly skip: LimitClause | undefined
  readonly take: LimitClause | undefined
}

/** `address.city: 'X'`; the steps of the target are attribute names. */
export interface Assignment extends Span {
  readonly target: readonly string[]
  readonly value: Expression
}

/** `Integer{Storage: B8}`, or the name of a class in a cast. */
export interface TypeExpression extends Span {
  readonly name: string
  readonly settings: readonly TypeSetting[]
}
export interface TypeSetting extends Span {
  readonly name: string
  readonly value: TypeExpression | PropertyValue | number
}
/** A property of an attribute or a class, by the field of its definition. */
export interface PropertySetting extends Span {
  readonly field: string
  readonly value: PropertyValue
}
export interface PropertyValue extends Span {
  readonly json: unknown
}

export type Source = Span & { readonly alias: Alias | undefined } & (
    | { readonly kind: 'class'; readonly className: QualifiedName; readonly isOnly: boolean }
    /** References held by a variable, or an OID. */
    | { readonly kind: 'references'; readonly references: Expression }
  )
/** The name of a source in expressions. */
export interface Alias extends Span {
  readonly name: string
}

export interface OrderItem extends Span {
  readonly expression: Expression
  readonly isDescending: boolean
}
export interface LimitClause extends Span {
  /** `count`: a number of rows. `while`: rows up to the first for which the expression is not true. */
  readonly kind: 'count' | 'while'
  readonly expression: Expression
}
export interface Projection extends Span {
  readonly expression: Expression
  /** The alias, or the expression as written with blanks squeezed. */
  readonly name: string
}
/** Undefined for `RETURN *`. */
export type Projections = readonly Projection[] | undefined

export interface Returned {
  /** Position in a UNION, whose statements yield rows even if they have a single value; the first determines the column names. */
  readonly unionPart?: 'first' | 'other'
  readonly projections: Projections
  readonly isDistinct: boolean
  /** `RETURN *, e AS x`: all attributes in addition to the projections. */
  readonly isWithAll: boolean
}

export interface Clauses {
  readonly where: Expression | undefined
  readonly groupBy: readonly Expression[]
  readonly having: Expression | undefined
  readonly orderBy: readonly OrderItem[]
  readonly skip: LimitClause | undefined
  readonly take: LimitClause | undefined
}

/** Order of the rows and selection among them. */
export type OrderClauses = Pick<Clauses, 'orderBy' | 'skip' | 'take'>

export interface SelectStatement extends Span, Clauses, Returned {
  readonly kind: 'select'
  readonly source: Source
  /** Sources after commas, which are joined with the first. */
  readonly others?: readonly Source[]
}
export interface CreateStatement extends Span {
  readonly kind: 'create'
  readonly className: QualifiedName
  readonly assignments: readonly Assignment[]
}
export interface UpsertStatement extends Span {
  readonly kind: 'upsert'
  readonly className: QualifiedName
  readonly assignments: readonly Assignment[]
  readonly on: readonly QualifiedName[]
}
export type ChangeAction = SetAction | ClearAction | AddAction | RemoveAction
export interface SetAction extends Span {
  readonly kind: 'set'
  readonly target: Expression
  readonly value: Expression
}
export interface ClearAction extends Span {
  readonly kind: 'clear'
  readonly targets: readonly Expression[]
}
export interface AddAction extends Span {
  readonly kind: 'add'
  readonly elements: readonly Expression[]
  readonly pairs: readonly Pair[]
  readonly target: Expression
}
export interface RemoveAction extends Span {
  readonly kind: 'remove'
  readonly elements: readonly Expression[]
  readonly isKeys: boolean
  readonly target: Expression
}
export interface UpdateStatement extends Span, Clauses, Returned {
  readonly kind: 'update'
  readonly source: Source
  /** Selects among the qualifying objects; undefined for all. */
  readonly chosen: OrderClauses | undefined
  readonly actions: readonly ChangeAction[]
  /** False without a RETURN clause. */
  readonly isReturning: boolean
}
export interface DeleteStatement extends Span, Clauses, Returned {
  readonly kind: 'delete'
  readonly source: Source
  /** Selects among the qualifying objects; undefined for all. */
  readonly chosen: OrderClauses | undefined
  readonly isReturning: boolean
}
export interface LookupStatement extends Span {
  readonly kind: 'lookup'
  readonly source: Source
  readonly where: Expression | undefined
}
export interface LetStatement extends Span {
  readonly kind: 'let'
  readonly name: string
  readonly value: Expression | Statement
  readonly isStatement: boolean
}
export interface ShowStatement extends Span {
  readonly kind: 'show'
  readonly what: 'value' | 'parameters' | 'class' | 'classes'
  readonly value: Expression | undefined
  readonly className: QualifiedName | undefined
}
export interface MatchStatement extends Span, Clauses, Returned {
  readonly kind: 'match'
  readonly patterns: readonly Pattern[]
  readonly optional: readonly OptionalMatch[]
}
/** `OPTIONAL MATCH pattern, … [WHERE e]`: matches for each row of the preceding patterns; null if there are none. */
export interface OptionalMatch extends Span {
  readonly patterns: readonly Pattern[]
  readonly where: Expression | undefined
}
/** Restricts repetition in a walk: none; no edge twice; no vertex twice; no vertex twice, but the last may be the first. */
export type PathMode = 'walk' | 'trail' | 'acyclic' | 'simple'
/** Selects paths between each pair of first and last vertex: any one, any shortest, all shortest, or the n shortest. */
export type PathSelection =
  | { readonly kind: 'any' | 'anyShortest' | 'allShortest' }
  | { readonly kind: 'shortest'; readonly count: number }
export interface Pattern extends Span {
  readonly name: string | undefined
  /** Undefined for all paths. */
  readonly selection: PathSelection | undefined
  /** As written for the pattern or for all patterns of the statement; undefined if not written. */
  readonly mode: PathMode | undefined
  /** One more vertex than edges. */
  readonly vertices: readonly VertexPattern[]
  readonly edges: readonly EdgePattern[]
}
export interface VertexPattern extends Span {
  readonly name: string | undefined
  readonly className: QualifiedName | undefined
  readonly where: Expression | undefined
}
export interface EdgePattern extends Span {
  readonly name: string | undefined
  /** Any of these; undefined for all. */
  readonly attributes: readonly QualifiedName[] | undefined
  readonly direction: 'forward' | 'backward' | 'either'
  /** Undefined for a single edge. */
  readonly length: { readonly min: number; readonly max: number | undefined } | undefined
}
export interface SchemaStatement extends Span {
  readonly kind: 'schema'
  readonly changes: readonly SchemaChange[]
}
export type SchemaChange =
  | (Span & {
      readonly kind: 'createClass'
      readonly className: QualifiedName
      readonly superClass: QualifiedName | undefined
      readonly isEmbeddable: boolean
      readonly properties: readonly PropertySetting[]
      readonly checks: readonly CheckDeclaration[]
      readonly attributes: readonly AttributeDeclaration[]
    })
  | (Span & {
      readonly kind: 'alterClass'
      readonly className: QualifiedName
      readonly alterations: readonly AlterClause[]
    })
  | (Span & { readonly kind: 'renameClass'; readonly className: QualifiedName; readonly newName: QualifiedName })
  | (Span & { readonly kind: 'dropClass'; readonly className: QualifiedName })
/** `CHECK name: e MESSAGE '…'` among the attributes of a class; its expression is bound with the class. */
export interface CheckDeclaration extends Span {
  readonly name: string
  readonly expression: string
  readonly message: string | undefined
}
export interface AttributeDeclaration extends Span {
  readonly name: string
  readonly type: TypeExpression
}
export type AlterClause =
  | (Span & { readonly kind: 'add'; readonly attribute: AttributeDeclaration })
  | (Span & { readonly kind: 'rename'; readonly name: QualifiedName; readonly newName: QualifiedName })
  | (Span & { readonly kind: 'drop'; readonly name: QualifiedName })
  | (Span & { readonly kind: 'addCheck'; readonly check: CheckDeclaration })
  | (Span & { readonly kind: 'dropCheck'; readonly name: string })
  | (Span & { readonly kind: 'alter'; readonly name: QualifiedName; readonly settings: readonly TypeSetting[] })
  | (Span & { readonly kind: 'set'; readonly properties: readonly PropertySetting[] })
export interface CreateIndexStatement extends Span {
  readonly kind: 'createIndex'
  readonly name: QualifiedName
  readonly isUnique: boolean
  readonly className: QualifiedName
  readonly attributes: readonly QualifiedName[]
}
export interface DropIndexStatement extends Span {
  readonly kind: 'dropIndex'
  readonly name: string
}
/** Numbers that are not written are undefined: the defaults of the statement. */
export interface CreateSequenceStatement extends Span {
  readonly kind: 'createSequence'
  readonly name: QualifiedName
  readonly first: bigint | undefined
  readonly step: bigint | undefined
}
export interface AlterSequenceStatement extends Span {
  readonly kind: 'alterSequence'
  readonly name: QualifiedName
  readonly restart: bigint
}
export interface DropSequenceStatement extends Span {
  readonly kind: 'dropSequence'
  readonly name: QualifiedName
}
export interface ShowSequencesStatement extends Span {
  readonly kind: 'showSequences'
}
export interface ForEachStatement extends Span {
  readonly kind: 'forEach'
  readonly name: string
  readonly elements: Expression | ImportStatement
  readonly body: readonly Statement[]
}
export interface IfStatement extends Span {
  readonly kind: 'if'
  readonly condition: Expression
  readonly whenTrue: readonly Statement[]
  readonly whenFalse: readonly Statement[]
}
export interface ImportStatement extends Span {
  readonly kind: 'import'
  readonly file: string
  readonly hasHeader: boolean
  readonly commitEvery: number | undefined
}
export interface FormatStatement extends Span {
  readonly kind: 'format'
  readonly type: 'date' | 'time' | 'datetime'
  readonly format: string
}
export interface ExplainStatement extends Span {
  readonly kind: 'explain'
  readonly isAnalyze: boolean
  readonly statement: Statement
}

export type Statement =
  | SelectStatement
  | CreateStatement
  | UpsertStatement
  | UpdateStatement
  | DeleteStatement
  | LookupStatement
  | LetStatement
  | ShowStatement
  | MatchStatement
  | SchemaStatement
  | CreateIndexStatement
  | DropIndexStatement
  | CreateSequenceStatement
  | AlterSequenceStatement
  | DropSequenceStatement
  | ShowSequencesStatement
  | ForEachStatement
  | IfStatement
  | ImportStatement
  | FormatStatement
  | ExplainStatement
