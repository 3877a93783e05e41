/** The interface of class expressions for writers; implemented above the query engine, which compiles them. */
import type { ClassFormat, FormatSource } from '../records/class-format.ts'
import type { CheckSource } from '../records/constraints.ts'
import type { ExpressionBinder } from '../schema/expression-uses.ts'
import type { Awaitable } from '../store/store.ts'

/** The value of `$$USER` in expressions, as queries represent it. */
export type UserOfExpressions = unknown

/** Returns `count` numbers of a sequence in order. Throws SequenceNotFound, SequenceExhausted, TransactionContention. */
export type DrawNumbers = (sequence: string, count: number) => Promise<readonly bigint[]>

/** Numbers that were drawn for the objects of a unit. */
export interface NumbersOfSequences {
  next(sequence: string): bigint
}

/** An attribute whose value is given by an expression. */
export interface ValueExpression {
  readonly index: number
  /** The names of the sequences from which the value is drawn, one for each number. */
  readonly draws: readonly string[]
  /**
   * Returns the value in memory. `values`: of the object, by index. `numbers`: those of `draws`. Throws AshlarError if the value cannot be
   * evaluated or does not fit.
   */
  valueFor(values: readonly unknown[], user: UserOfExpressions, numbers?: NumbersOfSequences): unknown
}

/** For one open federated database, compiled once per catalog. */
export interface ObjectExpressions extends ExpressionBinder, CheckSource {
  /** Attributes of the class, own and inherited, whose default is an expression. */
  defaultsOf(format: ClassFormat, formats: FormatSource): readonly ValueExpression[]
  /** Compiles all expressions of the class and of those that it embeds, yielding between them; otherwise they are compiled when used. */
  prepare(format: ClassFormat, formats: FormatSource): Awaitable<void>
  /** Like `defaultsOf`, for `onUpdate`. */
  updatesOf(format: ClassFormat, formats: FormatSource): readonly ValueExpression[]
}

/** The expressions available to a unit of work. */
export interface UnitExpressions {
  readonly all: ObjectExpressions
  readonly user: UserOfExpressions
  readonly draw: DrawNumbers
}

export function unitExpressions({ expressions: all, user = null, sequences }: UsedExpressions): UnitExpressions {
  return { all, user, draw: (sequence, count) => sequences.next(sequence, count) }
}

interface UsedExpressions {
  readonly expressions: ObjectExpressions
  readonly user?: UserOfExpressions
  readonly sequences: { next(sequence: string, count: number): Promise<readonly bigint[]> }
}
