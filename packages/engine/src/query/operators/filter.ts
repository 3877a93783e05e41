/** WHERE over objects: conditions that need the record alone are decided before anything else is read, or even copied. */
import { mapAwaitable } from '../../store/awaitable.ts'
import type { Awaitable } from '../../store/store.ts'
import { type Bound, conjunctsOf } from '../bind/bound.ts'
import { isRecordOnly } from '../bind/record-only.ts'
import { partSteps, partsSpentMin } from '../evaluate/compile-logical.ts'
import { type Evaluate, type EvaluationContext, needsFetch } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import type { Planning } from './planning.ts'

export interface FilterPlan {
  /** Slot of the object. */
  readonly slot: number
  /** The conjuncts that need the record alone, and the other ones. */
  readonly recordPredicate: Evaluate | undefined
  readonly rest: Evaluate | undefined
  /** Number of conjuncts. */
  readonly conjuncts: number
  /** Source text. */
  readonly text: string | undefined
}

export function planFilter(where: Bound | undefined, slot: number, planning: Planning): FilterPlan {
  const conjuncts = conjunctsOf(where)
  const remaining = conjuncts.filter((conjunct) => !isRecordOnly(conjunct))
  return {
    slot,
    conjuncts: conjuncts.length,
    recordPredicate: conjunctionOf(conjuncts.filter(isRecordOnly), planning),
    rest: conjunctionOf(remaining, planning),
    text: where === undefined ? undefined : planning.text.slice(where.start, where.end),
  }
}

function conjunctionOf(conjuncts: readonly Bound[], { compiler }: Planning): Evaluate | undefined {
  const evaluates = compiler.compileAll(conjuncts)
  const [first] = evaluates
  if (first === undefined) return undefined
  if (evaluates.length === 1) return (evaluation) => first(evaluation) === true
  const areTrue: Evaluate = (evaluation) => evaluates.every((evaluate) => evaluate(evaluation) === true)
  if (evaluates.length < partsSpentMin) return areTrue
  return (evaluation) => {
    evaluation.work.spend(evaluates.length * partSteps)
    return areTrue(evaluation)
  }
}

/** Undefined without a predicate. */
export function filterOperator(
  { recordPredicate, rest, text }: FilterPlan,
  source: ExplainNode,
): ExplainNode | undefined {
  const isFiltered = recordPredicate !== undefined || rest !== undefined
  return isFiltered ? explainNode('filter', { predicate: text }, [source]) : undefined
}

/** The objects for which the predicate is true. */
export function filterObjects(
  views: readonly ObjectView[],
  predicate: Evaluate,
  slot: number,
  evaluation: EvaluationContext,
  context: StatementContext,
): Awaitable<ObjectView[]> {
  const results = evaluateRows(context, views, (view) => {
    evaluation.slots[slot] = view
    return predicate(evaluation) === true
  })
  return mapAwaitable(results, (isMatch) => views.filter((_view, i) => isMatch[i]))
}

/** Undefined where a read is needed, which is impossible while bytes are borrowed. */
export function decideSync(predicate: Evaluate, evaluation: EvaluationContext): boolean | undefined {
  try {
    return predicate(evaluation) === true
  } catch (error) {
    if (error !== needsFetch) throw error
    return undefined
  }
}
