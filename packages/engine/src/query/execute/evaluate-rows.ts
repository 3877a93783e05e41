/** Evaluates an expression for many rows; rows that need data from the store wait for it together. */
import { mapAwaitable } from '../../store/awaitable.ts'
import type { Awaitable } from '../../store/store.ts'
import { type Evaluate, type EvaluationContext, needsFetch } from '../evaluate/evaluation-context.ts'
import type { StatementContext } from './statement-context.ts'

/** Results in row order; no promise if no row had to wait and the slice is not over. `rowParts`: expressions evaluated per row. */
export function evaluateRows<R, T>(
  context: StatementContext,
  rows: readonly R[],
  evaluate: (row: R) => T,
  rowParts = 1,
): Awaitable<T[]> {
  const timeCheckMask = rowParts > rowPartsMax ? 0 : defaultTimeCheckMask
  const batch: Batch<R, T> = { context, rows, evaluate, results: new Array<T>(rows.length), pending: [], timeCheckMask }
  const at = attempt(batch, undefined, 0)
  return at === rows.length && batch.pending.length === 0 ? batch.results : evaluateRest(batch, at)
}

/** Results of the first rows, at least one, until `isFull`. Results of later rows are passed to `drop`, and these rows must be evaluated again. */
export function evaluateWhile<R, T extends object>(
  context: StatementContext,
  rows: readonly R[],
  isFull: () => boolean,
  evaluate: (row: R) => T,
  drop: (result: T) => void,
  rowParts?: number,
): Awaitable<T[]> {
  const [first] = rows
  let isRefused = false
  const unlessFull = (row: R): T | undefined => {
    if (row === first || !isFull()) return evaluate(row)
    isRefused = true
    return undefined
  }
  const evaluated = evaluateRows<R, T | undefined>(context, rows, unlessFull, rowParts)
  return mapAwaitable(evaluated, (results) => {
    if (!isRefused) return results as T[]
    const firstRefused = results.indexOf(undefined)
    for (const result of results.splice(firstRefused)) if (result !== undefined) drop(result)
    return results as T[]
  })
}

/** A value that is the same for all rows; references that it follows may need a fetch. */
export function evaluateConstant(
  evaluate: Evaluate,
  evaluation: EvaluationContext,
  context: StatementContext,
): Awaitable<unknown> {
  try {
    const value = evaluate(evaluation)
    context.endRow()
    return value ?? null
  } catch (error) {
    if (error !== needsFetch) throw error
  }
  context.numbers?.forgetMissing()
  const values = evaluateRows(context, [undefined], () => evaluate(evaluation))
  return mapAwaitable(values, ([value]) => value ?? null)
}

/** The values of several expressions, in order. `found`: the values computed so far. */
export function evaluateConstants(
  evaluates: readonly Evaluate[],
  evaluation: EvaluationContext,
  context: StatementContext,
  found: unknown[] = [],
): Awaitable<unknown[]> {
  while (found.length < evaluates.length) {
    const value = evaluateConstant(evaluates[found.length] as Evaluate, evaluation, context)
    if (value instanceof Promise) {
      return value.then((resolved) => evaluateConstants(evaluates, evaluation, context, [...found, resolved]))
    }
    found.push(value)
  }
  return found
}

interface Batch<R, T> {
  readonly context: StatementContext
  readonly rows: readonly R[]
  readonly evaluate: (row: R) => T
  readonly results: T[]
  /** Positions of the rows that need a fetch. */
  pending: number[]
  /** Bit mask: the clock is checked after the rows whose position has all of these bits set. */
  readonly timeCheckMask: number
}

async function evaluateRest<R, T>(batch: Batch<R, T>, from: number): Promise<T[]> {
  const { context, rows, results } = batch
  let positions: readonly number[] | undefined
  let at = from
  for (;;) {
    while (at < (positions ?? rows).length) {
      await context.yieldToEventLoop()
      at = attempt(batch, positions, at)
    }
    if (batch.pending.length === 0) return results
    await context.fetchMissing()
    positions = batch.pending
    batch.pending = []
    at = 0
  }
}

const defaultTimeCheckMask = 15
/** Wider rows check the clock after each row: sixteen rows of thousands of expressions each would take too long. */
const rowPartsMax = 64

/** Evaluates rows from a position on; returns the next position when the time slice is over. */
function attempt<R, T>(batch: Batch<R, T>, positions: readonly number[] | undefined, from: number): number {
  const { context, rows, evaluate, results, pending, timeCheckMask } = batch
  const count = (positions ?? rows).length
  for (let i = from; i < count; i++) {
    const position = positions === undefined ? i : (positions[i] as number)
    try {
      results[position] = evaluate(rows[position] as R)
    } catch (error) {
      if (error !== needsFetch) throw error
      pending.push(position)
    }
    context.endRow()
    if ((i & timeCheckMask) === timeCheckMask && context.isYieldDue) return i + 1
  }
  return count
}
