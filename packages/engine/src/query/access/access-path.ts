/** Interface of access paths, one file per kind: which conditions it answers, its estimate, execution and EXPLAIN. Chosen at run time. */
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
import type { FullPredicate } from './entry-filter.ts'
import type { ObjectScan } from './object-scan.ts'
import type { OidSource } from './oid-source.ts'
import type { IndexCondition } from './sargable-predicates.ts'

export type AccessPath = OidAccess | ObjectAccess

export interface EntryRange extends KeyRange {
  readonly isReverse: boolean
  readonly isOneKey: boolean
}

/** Answers conditions by OIDs, possibly with false positives: the objects are read and checked against the whole predicate. */
export interface OidAccess {
  /** A static estimate, used before data is known: higher means fewer objects. */
  readonly rank: number
  /** At most one object: no other access can be better. */
  readonly isAtMostOne: boolean
  /** The number of conjuncts of the predicate that it answers; if these are all, nearly every object qualifies. */
  readonly conjunctsAnswered: number
  /** The attributes of the class whose conditions it answers; undefined if there are several such sets. */
  readonly narrowedBy?: readonly AttributeNumber[]
  readonly mayRepeat: boolean
  /** Every OID belongs to an object of the class or a subclass for which the answered conditions are true. */
  readonly isExact?: boolean
  /** The name of the entries from which OIDs are read, whose objects must exist; undefined for given OIDs, whose objects may be missing. */
  readonly entries: string | undefined
  describe(className: string): ExplainNode
  /** The number of OIDs, counted up to `max`, which is returned if there are more. */
  estimate(evaluation: EvaluationContext, context: StatementContext, max: number): Promise<number>
  /** Set if a condition can be decided by few objects, regardless of the access that yields the rows: finds and retains them; see `ConstantElements`. */
  readonly findElements?: ((evaluation: EvaluationContext, context: StatementContext) => Promise<void>) | undefined
  /** Yields batches. `plan`: receives counts; the result of `describe`. `batch`: the number of index entries read at once. */
  oids(
    evaluation: EvaluationContext,
    context: StatementContext,
    plan: ExplainNode,
    batch?: number,
  ): AsyncGenerator<Oid[]>
  /** Whether the OIDs are rows of statements that are still running; `source` then returns nothing. */
  isDeferred?(evaluation: EvaluationContext, context: StatementContext): boolean
  /** The synchronous form of `oids`; missing if the store is asynchronous or OIDs repeat. `plan`: receives counts for EXPLAIN. */
  source?(
    evaluation: EvaluationContext,
    context: StatementContext,
    plan: ExplainNode | undefined,
  ): Awaitable<OidSource> | undefined
  /** The entries from which its OIDs are read, if they form at most one range. */
  entryRange?(evaluation: EvaluationContext, context: StatementContext): Awaitable<EntryRange | 'several'>
}

export interface ObjectAccess {
  describe(className: string): ExplainNode
  /** Yields batches of qualifying objects; `rowLimit`: see `objectRows`. */
  objects(scan: ObjectScan, rowLimit: number | undefined): AsyncGenerator<ObjectView[]>
  /** Pushes the objects one by one, if possible; a caller uses either this or `objects`. */
  push?(scan: ObjectScan): PushRows<ObjectView> | undefined
}

/** The conditions of a predicate on the objects of a class. */
export interface AccessRequest {
  readonly cls: SchemaClass
  readonly conditions: readonly IndexCondition[]
  readonly planning: Planning
  /** Set if all objects found are checked against it. */
  readonly predicate: FullPredicate | undefined
  /** For conditions on other objects, and for subsets of the conditions. */
  readonly accessesFor: AccessesFor
}

export type AccessesFor = (
  cls: SchemaClass,
  conditions: readonly IndexCondition[],
  planning: Planning,
  predicate?: FullPredicate,
) => OidAccess[]

/** Returns every access of one kind that answers at least one of the conditions. */
export type PlanAccess = (request: AccessRequest) => OidAccess[]

/** A value that does not depend on the rows, in the type of the key attribute. */
export interface KeyValue {
  readonly evaluate: Evaluate
  /** As written, for EXPLAIN. */
  readonly text: string
}

export function constantKey(bound: Bound, { compiler, text }: Planning): KeyValue {
  return { evaluate: compiler.compile(bound), text: text.slice(bound.start, bound.end) }
}

/** The static choice: OIDs, then unique equality, then the index with most conditions. */
export function bestOf(accesses: readonly OidAccess[]): OidAccess | undefined {
  const [best] = [...accesses].sort((one, other) => other.rank - one.rank)
  return best
}
