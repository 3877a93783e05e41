/** State that expressions are evaluated with: the slots of the current row, and values that are the same for all rows. */
import type { RequestMemory } from '../../budget/request-memory.ts'
import type { Work } from '../functions/work.ts'
import type { UserValue } from '../values/user.ts'
import type { ObjectReader } from './object-view.ts'

/** Thrown where an object must be fetched first. A constant, since creating an error each time would cost too much. */
export const needsFetch: unique symbol = Symbol('needs fetch')

/** Thrown by EXPLAIN, which executes nothing, where variables and nested statements have no value. */
export const unknownValue: unique symbol = Symbol('unknown value')

export interface EvaluationContext {
  /** Context objects (ObjectView) and elements of the current row. */
  readonly slots: unknown[]
  readonly reader: ObjectReader
  /** Values that are the same for all rows, by the index the compiler assigned; `undefined` = not evaluated yet. */
  readonly constants: unknown[]
  readonly variables: ReadonlyMap<string, { readonly value: unknown }>
  readonly nested: readonly unknown[]
  /** Values of correlated subqueries for the current row. */
  readonly inner: InnerReader
  /** Numbers of sequences, for statements that may draw some. */
  readonly numbers: NumberReader
  /** Results of aggregates, for the current group. */
  aggregates: readonly unknown[]
  /** Results of window functions, for the current row. */
  windows: readonly unknown[]
  /** Ticks since 0001-01-01 in UTC, constant during the statement. */
  readonly now: number
  readonly user: UserValue
  readonly text: string
  /** Charged for values before expressions create them. */
  readonly memory: RequestMemory
  readonly textCharactersMax: number
  readonly work: Work
}

export interface InnerReader {
  /** Value of a subquery for these captured values. Throws `needsFetch` where it has not been run for them. */
  value(index: number, captured: readonly unknown[]): unknown
}

/** Numbers of sequences for the current row. */
export interface NumberReader {
  /** Throws `needsFetch` if no number has been drawn yet. */
  next(sequence: string): bigint
}

export type Evaluate = (evaluation: EvaluationContext) => unknown

/** A copy with its own slots, for evaluating rows while other rows are being evaluated. */
export function evaluationApart(evaluation: EvaluationContext): EvaluationContext {
  const {
    slots,
    reader,
    constants,
    variables,
    nested,
    aggregates,
    windows,
    now,
    user,
    text,
    memory,
    textCharactersMax,
    work,
  } = evaluation
  return {
    slots: [...slots],
    reader,
    constants,
    variables,
    nested,
    get inner() {
      return evaluation.inner
    },
    get numbers() {
      return evaluation.numbers
    },
    aggregates,
    windows,
    now,
    user,
    text,
    memory,
    textCharactersMax,
    work,
  }
}
