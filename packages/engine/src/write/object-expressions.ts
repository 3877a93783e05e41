/** The interface of class expressions for writers; implemented above the query engine, which compiles them. */
import type { ClassFormat, FormatSource } from '../records/class-format.ts'
import type { CheckSource } from '../records/constraints.ts'
import type { ExpressionBinder } from '../schema/class-expressions.ts'

/** The value of `$$USER` in expressions, as queries represent it. */
export type UserOfExpressions = unknown

/** An attribute whose value is given by an expression. */
export interface ValueExpression {
  readonly index: number
  /** Returns the value in memory. `values`: of the object, by index. Throws AshlarError if the value cannot be evaluated or does not fit. */
  valueFor(values: readonly unknown[], user: UserOfExpressions): unknown
}

/** For one open federated database, compiled once per catalog. */
export interface ObjectExpressions extends ExpressionBinder, CheckSource {
  /** Attributes of the class, own and inherited, whose default is an expression. */
  defaultsOf(format: ClassFormat, formats: FormatSource): readonly ValueExpression[]
  /** Like `defaultsOf`, for `onUpdate`. */
  updatesOf(format: ClassFormat, formats: FormatSource): readonly ValueExpression[]
}

/** The expressions available to a unit of work. */
export interface UnitExpressions {
  readonly all: ObjectExpressions
  readonly user: UserOfExpressions
}

export function unitExpressions({ expressions: all, user = null }: UsedExpressions): UnitExpressions {
  return { all, user }
}

interface UsedExpressions {
  readonly expressions: ObjectExpressions
  readonly user?: UserOfExpressions
}
