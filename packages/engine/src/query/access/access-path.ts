/**
 * The interface of access paths to the objects of a source. Each kind of access path is one file: the conditions that
 * it can answer, its estimate, how it is opened, and how EXPLAIN shows it. The path is chosen at run time.
 */
import type { SchemaClass } from '../../schema/catalog.ts'
import type { Awaitable, KeyRange } from '../../store/store.ts'
import type { Oid } from '../../types/oid.ts'
import type { AttributeNumber } from '../../types/type-spec.ts'
import type { Bound } from '../bind/bound.ts'
import type { Evaluate, EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { PushRows } from '../execute/pushed-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import type { Planning } from '../operators/planning.ts'
import type { WholePredicate } from './entry-filter.ts'
import type { ObjectScan } from './object-scan.ts'
import type { OidSource } from './oid-source.ts'
import type { Condition } from './sargable-predicates.ts'

export type AccessPath = OidAccess | ObjectAccess

export interface EntryRange extends KeyRange {
  readonly isReverse: boolean
  readonly isOneKey: boolean
}

/** It answers conditions by OIDs, perhaps too many: what they name is read and checked against the whole predicate. */
export interface OidAccess {
  /** Before the data is there: the higher, the fewer objects are expected. */
  readonly rank: number
  /** One object at most: nothing can be better. */
  readonly isAtMostOne: boolean
  /** It answers so many of the conjuncts of the predicate; where these are all, nearly every object that it gives qualifies. */
  readonly conjunctsAnswered: number
  /** The attributes of the class whose conditions it answers; undefined where these are several sets of them. */
  readonly narrowedBy?: readonly AttributeNumber[]
  /** The same OID may come more than once. */
  readonly mayRepeat: boolean
  /** Every OID that it gives is that of an object of the class, or of a class below it, for which the conditions that it answers are true. */
  readonly isExact?: boolean
  /** The entries that its OIDs are read from, whose objects are there; undefined where OIDs are given, which may name nothing. */
  readonly entries: string | undefined
  /** `className`: of the source. */
  describe(className: string): ExplainNode
  /** How many OIDs it gives, counted up to `max`; beyond the answer is `max`. */
  estimate(evaluation: EvaluationContext, context: StatementContext, max: number): Promise<number>
  /** Where few objects decide about its condition, whichever access the rows come from: finds them, to be kept for that; see `KnownElements`. */
  readonly findElements?: ((evaluation: EvaluationContext, context: StatementContext) => Promise<void>) | undefined
  /** In batches. `plan` counts, and is as `describe` has made it; `batch`: so many entries of an index are read at once. */
  oids(
    evaluation: EvaluationContext,
    context: StatementContext,
    plan: ExplainNode,
    batch?: number,
  ): AsyncGenerator<Oid[]>
  /** Whether the OIDs are rows of statements this time, which come later: `source` then gives none. */
  comesLater?(evaluation: EvaluationContext, context: StatementContext): boolean
  /** The same where the store answers at once; without it, they come later or repeat themselves. `plan` counts, where the statement is explained. */
  source?(
    evaluation: EvaluationContext,
    context: StatementContext,
    plan: ExplainNode | undefined,
  ): Awaitable<OidSource> | undefined
  /** The entries that its OIDs are read from, where these are one range or none. */
  entryRange?(evaluation: EvaluationContext, context: StatementContext): Awaitable<EntryRange | 'several'>
}

/** It goes through objects by itself, instead of looking up those of given OIDs. */
export interface ObjectAccess {
  describe(className: string): ExplainNode
  /** Those that qualify, in batches; `wanted`: see `objectRows`. */
  objects(scan: ObjectScan, wanted: number | undefined): AsyncGenerator<ObjectView[]>
  /** The same, pushed one by one, where that is possible: either these are consumed or the others. */
  push?(scan: ObjectScan): PushRows<ObjectView> | undefined
}

/** What a predicate asks of the objects of a class. */
export interface Asked {
  readonly cls: SchemaClass
  readonly conditions: readonly Condition[]
  readonly planning: Planning
  /** Where all objects of the class that are found are checked against it. */
  readonly whole: WholePredicate | undefined
  /** For conditions on other objects, and for some of the conditions. */
  readonly accessesFor: AccessesFor
}

export type AccessesFor = (
  cls: SchemaClass,
  conditions: readonly Condition[],
  planning: Planning,
  whole?: WholePredicate,
) => OidAccess[]

/** Every access of the kind that answers at least one of the conditions. */
export type PlanAccess = (asked: Asked) => OidAccess[]

/** A value that is known before the rows, fitting for the key attribute. */
export interface KeyValue {
  readonly evaluate: Evaluate
  /** As written, for EXPLAIN. */
  readonly text: string
}

export function constantKey(bound: Bound, { compiler, text }: Planning): KeyValue {
  return { evaluate: compiler.compile(bound), text: text.slice(bound.start, bound.end) }
}

/** Before the data is there: OIDs, then unique equality, then the index of which most is known. */
export function bestOf(accesses: readonly OidAccess[]): OidAccess | undefined {
  const [best] = [...accesses].sort((one, other) => other.rank - one.rank)
  return best
}
