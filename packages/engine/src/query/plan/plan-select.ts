/** From a bound statement to what is carried out: access paths, filters, groups, order, projections. */
import type { RecordFormats } from '../../records/record-formats.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import type { ClassNumber } from '../../types/type-spec.ts'
import type { BoundSelect } from '../bind/bind-select.ts'
import type { AggregateName } from '../bind/bound.ts'
import { type Bound, type BoundClauses, type BoundLimiter, type BoundSource, partsOf } from '../bind/bound.ts'
import { Compiler } from '../evaluate/compile-expression.ts'
import type { Evaluate } from '../evaluate/run.ts'
import type { Compare } from '../values/compare.ts'
import { isReference, type ValueType } from '../values/value-type.ts'
import type { Access, KeyValue, OrderedAccess } from './access.ts'
import { conditionsOf, conjunctsOf } from './conditions.ts'
import { accessesFor, orderedAccess } from './plan-access.ts'

/** The objects of a source that qualify. */
export interface ObjectsPlan {
  readonly slot: number
  /** As plans name it. */
  readonly cls: { readonly name: string }
  readonly classNumbers: ReadonlySet<ClassNumber>
  readonly classes: readonly SchemaClass[]
  /** Where the source is references: no other access is possible. */
  readonly references: KeyValue | undefined
  readonly accesses: readonly Access[]
  readonly ordered: OrderedAccess | undefined
  /** What the record alone decides, and the rest of the predicate. */
  readonly recordFilter: Evaluate | undefined
  readonly restFilter: Evaluate | undefined
  readonly whereText: string | undefined
}

export interface OrderPlan {
  readonly evaluate: Evaluate
  readonly type: ValueType
  readonly isDescending: boolean
}

export interface AggregatePlan {
  readonly function: AggregateName
  readonly operand: Evaluate | undefined
  readonly operandType: ValueType | undefined
  readonly type: ValueType
  readonly compare: Compare | undefined
  readonly span: { readonly start: number; readonly end: number }
}

export interface GroupPlan {
  readonly keys: readonly { readonly evaluate: Evaluate; readonly type: ValueType }[]
  readonly aggregates: readonly AggregatePlan[]
  readonly having: Evaluate | undefined
  /** As written, for EXPLAIN. */
  readonly texts: { readonly by?: readonly string[]; readonly having?: string }
  /** True where nothing is asked of the rows but how many there are. */
  readonly isCountOnly: boolean
}

export interface LimiterPlan {
  readonly kind: 'count' | 'while'
  readonly evaluate: Evaluate
  readonly text: string
  readonly span: { readonly start: number; readonly end: number }
}

export interface ProjectionPlan {
  readonly name: string
  /** `"name":` */
  readonly jsonName: string
  readonly evaluate: Evaluate
  readonly type: ValueType
}

/** What is done with the rows that qualify. */
export interface ClausesPlan {
  readonly group: GroupPlan | undefined
  readonly orderBy: readonly OrderPlan[]
  readonly orderText: string
  readonly skip: LimiterPlan | undefined
  readonly take: LimiterPlan | undefined
  /** Undefined for `RETURN *` of objects. */
  readonly projections: readonly ProjectionPlan[] | undefined
}

export interface SelectPlan {
  readonly objects: ObjectsPlan
  readonly clauses: ClausesPlan
  readonly slots: number
  readonly constants: number
  readonly rowType: ValueType
  readonly isSingle: boolean
}

export interface Planning {
  readonly formats: RecordFormats
  readonly text: string
  readonly compiler: Compiler
}

export function planSelect(bound: BoundSelect, slots: number, formats: RecordFormats, text: string): SelectPlan {
  const planning: Planning = { formats, text, compiler: new Compiler(formats) }
  const objects = planObjects(bound.source, bound.slot, bound.clauses, planning)
  const clauses = planClauses(bound.clauses, planning)
  const { rowType, isSingle } = bound
  return { objects, clauses, slots, constants: planning.compiler.constants, rowType, isSingle }
}

export function planObjects(source: BoundSource, slot: number, clauses: BoundClauses, planning: Planning): ObjectsPlan {
  const { where, orderBy, groupBy } = clauses
  const { cls } = source
  const classes = source.kind === 'class' ? source.classes : [cls, ...cls.subclasses]
  const conditions = conditionsOf(where, slot)
  const isClass = source.kind === 'class'
  const conjuncts = conjunctsOf(where)
  return {
    slot,
    cls,
    classes,
    classNumbers: new Set(classes.map(({ number }) => number)),
    references: isClass ? undefined : keyValue(source.references, planning),
    accesses: isClass ? accessesFor(cls, conditions, planning) : [],
    ordered: isClass && groupBy === undefined ? orderedAccess(cls, slot, orderBy, conditions, planning) : undefined,
    recordFilter: filterOf(conjuncts.filter(isOfRecord), planning),
    restFilter: filterOf(
      conjuncts.filter((conjunct) => !isOfRecord(conjunct)),
      planning,
    ),
    whereText: where === undefined ? undefined : planning.text.slice(where.start, where.end),
  }
}

function keyValue(bound: Bound, { compiler, text }: Planning): KeyValue {
  return { evaluate: compiler.compile(bound), text: text.slice(bound.start, bound.end) }
}

function filterOf(conjuncts: readonly Bound[], { compiler }: Planning): Evaluate | undefined {
  const evaluates = compiler.compileAll(conjuncts)
  const [first] = evaluates
  if (first === undefined) return undefined
  if (evaluates.length === 1) return (run) => first(run) === true
  return (run) => evaluates.every((evaluate) => evaluate(run) === true)
}

/** True where nothing but the record of the object at hand has to be read. */
function isOfRecord(bound: Bound): boolean {
  switch (bound.kind) {
    case 'follow':
    case 'isValid':
    case 'instanceOf':
      return false
    case 'attribute':
      return bound.attribute.linkStorage === undefined
    case 'each':
    case 'choose':
    case 'quantifier': {
      const { type } = bound.collection
      const element = type.kind === 'collection' || type.kind === 'map' ? type.element : type
      const isFollowed = isReference(element) && !(bound.kind === 'quantifier' && bound.test.kind === 'equal')
      return !isFollowed && partsOf(bound).every(isOfRecord)
    }
    default:
      return partsOf(bound).every(isOfRecord)
  }
}

export function planClauses(clauses: BoundClauses, planning: Planning): ClausesPlan {
  const { compiler, text } = planning
  const { groupBy, aggregates, having, orderBy, projections } = clauses
  const first = orderBy[0]?.expression
  const last = orderBy.at(-1)
  return {
    group:
      groupBy === undefined
        ? undefined
        : {
            keys: groupBy.map((key) => ({ evaluate: compiler.compile(key), type: key.type })),
            aggregates: aggregates.map(({ function: name, operand, type, compare, start, end }) => ({
              function: name,
              operand: operand === undefined ? undefined : compiler.compile(operand),
              operandType: operand?.type,
              type,
              compare,
              span: { start, end },
            })),
            having: having === undefined ? undefined : compiler.compile(having),
            texts: groupTexts(clauses, text),
            isCountOnly: isCountOnly(clauses),
          },
    orderBy: orderBy.map(({ expression, type, isDescending }) => {
      return { evaluate: compiler.compile(expression), type, isDescending }
    }),
    orderText:
      first === undefined || last === undefined
        ? ''
        : `${text.slice(first.start, last.expression.end)}${last.isDescending ? ' DESC' : ''}`,
    skip: planLimiter(clauses.skip, planning),
    take: planLimiter(clauses.take, planning),
    projections: projections?.map(({ name, expression }) => ({
      name,
      jsonName: `${JSON.stringify(name)}:`,
      evaluate: compiler.compile(expression),
      type: expression.type,
    })),
  }
}

function groupTexts({ groupBy = [], having }: BoundClauses, text: string): GroupPlan['texts'] {
  const textOf = ({ start, end }: Bound): string => text.slice(start, end)
  return {
    ...(groupBy.length === 0 ? {} : { by: groupBy.map(textOf) }),
    ...(having === undefined ? {} : { having: textOf(having) }),
  }
}

function isCountOnly({ groupBy, aggregates, having, orderBy, projections, skip, take }: BoundClauses): boolean {
  const isPlain = groupBy?.length === 0 && having === undefined && skip === undefined && take === undefined
  const isCount = aggregates.every(({ function: name, operand }) => name === 'COUNT' && operand === undefined)
  const isOfRow = (bound: Bound): boolean => 'slot' in bound || partsOf(bound).some(isOfRow)
  return (
    isPlain && isCount && orderBy.length === 0 && projections?.some(({ expression }) => isOfRow(expression)) === false
  )
}

function planLimiter(limiter: BoundLimiter | undefined, { compiler, text }: Planning): LimiterPlan | undefined {
  if (limiter === undefined) return undefined
  const { kind, expression } = limiter
  const span = { start: expression.start, end: expression.end }
  return { kind, evaluate: compiler.compile(expression), text: text.slice(span.start, span.end), span }
}
