/** Works something out for each of several rows; where a row has to wait for the store, all such rows wait together. */
import { mapAwaitable } from '../../store/awaitable.ts'
import type { Awaitable } from '../../store/store.ts'
import { type Evaluate, type EvaluationContext, needsFetch } from '../evaluate/evaluation-context.ts'
import type { StatementContext } from './statement-context.ts'

/**
 * The results in order of the rows. Without a promise where nothing had to be waited for, and nothing took long. `rowParts`: expressions that
 * are evaluated for each row, where they may be many.
 */
export function evaluateRows<R, T>(
  context: StatementContext,
  rows: readonly R[],
  evaluate: (row: R) => T,
  rowParts = 1,
): Awaitable<T[]> {
  const rowsBetween = rowParts > rowPartsMax ? 0 : rowsBetweenLooks
  const batch: Batch<R, T> = { context, rows, evaluate, results: new Array<T>(rows.length), waiting: [], rowsBetween }
  const at = attempt(batch, undefined, 0)
  return at === rows.length && batch.waiting.length === 0 ? batch.results : evaluateRest(batch, at)
}

/**
 * The results of the first rows: of all, or of those, one at least, after which `isFull`. What was made of others is told to `drop`; they are
 * to be worked out again.
 */
export function evaluateWhile<R, T extends object>(
  context: StatementContext,
  rows: readonly R[],
  isFull: () => boolean,
  evaluate: (row: R) => T,
  drop: (made: T) => void,
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
    const taken = results.indexOf(undefined)
    for (const made of results.splice(taken)) if (made !== undefined) drop(made)
    return results as T[]
  })
}

/** A value that is the same for all rows; what it follows may have to be waited for. */
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

/** The values of several, in order. `found`: those of the first of them. */
export function evaluateConstants(
  evaluates: readonly Evaluate[],
  evaluation: EvaluationContext,
  context: StatementContext,
  found: unknown[] = [],
): Awaitable<unknown[]> {
  while (found.length < evaluates.length) {
    const value = evaluateConstant(evaluates[found.length] as Evaluate, evaluation, context)
    if (value instanceof Promise) {
      return value.then((later) => evaluateConstants(evaluates, evaluation, context, [...found, later]))
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
  /** The positions of the rows that have to wait. */
  waiting: number[]
  /** Rows that are worked out before the next look at the clock, less one; all its bits are ones. */
  readonly rowsBetween: number
}

async function evaluateRest<R, T>(batch: Batch<R, T>, from: number): Promise<T[]> {
  const { context, rows, results } = batch
  let positions: readonly number[] | undefined
  let at = from
  for (;;) {
    while (at < (positions ?? rows).length) {
      await context.turn()
      at = attempt(batch, positions, at)
    }
    if (batch.waiting.length === 0) return results
    await context.fetchMissing()
    positions = batch.waiting
    batch.waiting = []
    at = 0
  }
}

const rowsBetweenLooks = 15
/** A row of more is looked behind at once: sixteen of thousands of expressions would take longer than others are to wait. */
const rowPartsMax = 64

/** From one of the positions on; returns the one that is next, once others are to have their turn. */
function attempt<R, T>(batch: Batch<R, T>, positions: readonly number[] | undefined, from: number): number {
  const { context, rows, evaluate, results, waiting, rowsBetween } = batch
  const count = (positions ?? rows).length
  for (let i = from; i < count; i++) {
    const position = positions === undefined ? i : (positions[i] as number)
    try {
      results[position] = evaluate(rows[position] as R)
    } catch (error) {
      if (error !== needsFetch) throw error
      waiting.push(position)
    }
    context.endRow()
    if ((i & rowsBetween) === rowsBetween && context.isTurnDue) return i + 1
  }
  return count
}
