/** Plans for SKIP and TAKE, whose row counts operators and access paths use before the clauses are applied. */
import { caught, mapAwaitable } from '../../store/awaitable.ts'
import type { Awaitable } from '../../store/store.ts'
import type { BoundClauses, BoundLimit } from '../bind/bound.ts'
import { type Evaluate, type EvaluationContext, unknownValue } from '../evaluate/evaluation-context.ts'
import { evaluateConstant } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { queryError } from '../language/query-error.ts'
import type { Planning } from './planning.ts'

export interface LimitPlan {
  readonly kind: 'count' | 'while'
  readonly evaluate: Evaluate
  readonly text: string
  readonly span: { readonly start: number; readonly end: number }
}

export interface RowLimits {
  readonly skip: LimitPlan | undefined
  readonly take: LimitPlan | undefined
}

export function planRowLimits({ skip, take }: BoundClauses, planning: Planning): RowLimits {
  return { skip: planLimit(skip, planning), take: planLimit(take, planning) }
}

function planLimit(limit: BoundLimit | undefined, { compiler, text }: Planning): LimitPlan | undefined {
  if (limit === undefined) return undefined
  const { kind, expression } = limit
  const span = { start: expression.start, end: expression.end }
  // EXISTS implies TAKE 1.
  const source = span.start === span.end ? '1' : text.slice(span.start, span.end)
  return { kind, evaluate: compiler.compile(expression), text: source, span }
}

/** Number of leading rows that are needed; undefined where it is not known in advance. Throws QueryError. */
export function requiredRows(
  { skip, take }: RowLimits,
  evaluation: EvaluationContext,
  context: StatementContext,
): Awaitable<number | undefined> {
  if (skip?.kind === 'while' || take === undefined || take.kind === 'while') return undefined
  return unlessUnknown(() => {
    return mapAwaitable(countOf(skip, evaluation, context), (skipCount = 0) => {
      return mapAwaitable(countOf(take, evaluation, context), (takeCount = 0) => skipCount + takeCount)
    })
  })
}

function unlessUnknown(count: () => Awaitable<number | undefined>): Awaitable<number | undefined> {
  return caught(count, (error) => {
    if (error !== unknownValue) throw error
    return undefined
  })
}

/** Number of leading rows that are skipped; undefined where it is not known in advance. Throws QueryError. */
export function rowsSkipped(
  { skip }: RowLimits,
  evaluation: EvaluationContext,
  context: StatementContext,
): Awaitable<number | undefined> {
  return unlessUnknown(() => countOf(skip, evaluation, context))
}

/** Undefined without the clause, and where it is a predicate. Throws QueryError. */
export function countOf(
  limit: LimitPlan | undefined,
  evaluation: EvaluationContext,
  context: StatementContext,
): Awaitable<number | undefined> {
  if (limit === undefined || limit.kind === 'while') return undefined
  return mapAwaitable(evaluateConstant(limit.evaluate, evaluation, context), (value) => {
    if (value !== null && Number(value) >= 0) return Number(value)
    throw queryError(evaluation.text, limit.span, `a number of rows is 0 or more, not ${value}`)
  })
}
