/** Plans for SKIP and TAKE, whose row counts operators and access paths use before the clauses are applied. */
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
export async function requiredRows(
  limits: RowLimits,
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<number | undefined> {
  const { skip, take } = limits
  if (skip?.kind === 'while' || take === undefined || take.kind === 'while') return undefined
  const skipped = await rowsSkipped(limits, evaluation, context)
  if (skip !== undefined && skipped === undefined) return undefined
  const taken = await unlessUnknown(countOf(take, evaluation, context))
  return taken === undefined ? undefined : (skipped ?? 0) + taken
}

async function unlessUnknown(count: Promise<number | undefined>): Promise<number | undefined> {
  try {
    return await count
  } catch (error) {
    if (error !== unknownValue) throw error
    return undefined
  }
}

/** Number of leading rows that are skipped; undefined where it is not known in advance. Throws QueryError. */
export function rowsSkipped(
  { skip }: RowLimits,
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<number | undefined> {
  return unlessUnknown(countOf(skip, evaluation, context))
}

/** Undefined without the clause, and where it is a predicate. Throws QueryError. */
export async function countOf(
  limit: LimitPlan | undefined,
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<number | undefined> {
  if (limit === undefined || limit.kind === 'while') return undefined
  const value = await evaluateConstant(limit.evaluate, evaluation, context)
  if (value !== null && Number(value) >= 0) return Number(value)
  throw queryError(evaluation.text, limit.span, `a number of rows is 0 or more, not ${value}`)
}
