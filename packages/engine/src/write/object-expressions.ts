/** The expressions of classes, as writers use them: implemented above the query engine, which compiles them. */
import type { ClassFormat, FormatSource } from '../records/class-format.ts'
import type { CheckSource } from '../records/constraints.ts'
import type { ExpressionBinder } from '../schema/class-expressions.ts'

/** Whose expressions see `$$USER`: a value as queries have it. */
export type UserOfExpressions = unknown

/** An attribute whose value an expression gives. */
export interface ValueExpression {
  readonly index: number
  /** In memory. `values`: of the object, by index. Throws AshlarError for what cannot be evaluated or does not fit. */
  valueFor(values: readonly unknown[], user: UserOfExpressions): unknown
}

/** Of one open federated database: compiled once for each catalog. */
export interface ObjectExpressions extends ExpressionBinder, CheckSource {
  /** Of the attributes of the class with a default by expression, inherited ones included. */
  defaultsOf(format: ClassFormat, formats: FormatSource): readonly ValueExpression[]
  /** The same for `onUpdate`. */
  updatesOf(format: ClassFormat, formats: FormatSource): readonly ValueExpression[]
}

/** What a unit of work has of it. */
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
