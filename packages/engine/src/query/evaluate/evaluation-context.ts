/** What expressions are worked out with: the row in its slots, and what is the same for all rows. */
import type { RequestMemory } from '../../budget/request-memory.ts'
import type { Work } from '../functions/work.ts'
import type { UserValue } from '../values/user.ts'
import type { ObjectReader } from './object-view.ts'

/** Thrown where an object has to be waited for. One value, because making an error each time would cost too much. */
export const needsFetch: unique symbol = Symbol('needs fetch')

/** Thrown where EXPLAIN, which carries nothing out, has no value: of variables and nested statements. */
export const unknownValue: unique symbol = Symbol('unknown value')

export interface EvaluationContext {
  /** The context objects (ObjectView) and elements of the row at hand. */
  readonly slots: unknown[]
  readonly reader: ObjectReader
  /** Values that are the same for all rows, by the place that was given out for them; `undefined` = not yet known. */
  readonly constants: unknown[]
  readonly variables: ReadonlyMap<string, { readonly value: unknown }>
  readonly nested: readonly unknown[]
  /** What statements come to that are run for the row at hand. */
  readonly inner: InnerReader
  /** Of statements that may draw some. */
  readonly numbers: NumberReader
  /** Results of aggregates, of the group at hand. */
  aggregates: readonly unknown[]
  /** Results of window functions, of the row at hand. */
  windows: readonly unknown[]
  /** Ticks since 0001-01-01 in UTC, the same during the statement. */
  readonly now: number
  /** The caller. */
  readonly user: UserValue
  readonly text: string
  /** Charged with what expressions make, before they make it. */
  readonly memory: RequestMemory
  readonly textCharactersMax: number
  readonly work: Work
}

export interface InnerReader {
  /** Of the statement of that number, where it asks the row for these values. Throws `needsFetch` where it was not yet run for them. */
  value(index: number, captured: readonly unknown[]): unknown
}

/** Numbers of sequences, for the row at hand. */
export interface NumberReader {
  /** Throws `needsFetch` where none is there yet. */
  next(sequence: string): bigint
}

export type Evaluate = (evaluation: EvaluationContext) => unknown

/** The same values with slots of their own, for rows that are looked at while others are. */
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
