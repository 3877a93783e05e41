/** Compiles predicates over the objects of a class that are not part of a statement: access rules and filters of change feeds. */
import type { RecordFormats } from '../records/record-formats.ts'
import type { SchemaClass } from '../schema/catalog.ts'
import { bindWhere } from './bind/bind-select.ts'
import { isUnsteady } from './bind/bound.ts'
import { isRecordOnly } from './bind/record-only.ts'
import { contextScope } from './bind/scope.ts'
import { effectOf } from './classify.ts'
import { Compiler } from './evaluate/compile-expression.ts'
import type { Evaluate } from './evaluate/evaluation-context.ts'
import { parsePredicate } from './parse/parse.ts'
import { createPredicateBinder } from './plan-cache.ts'
import { typeOfStatement } from './statements/statement-kinds.ts'

export interface CompiledPredicate {
  /** True if the predicate holds for the object in `slot`. */
  readonly evaluate: Evaluate
  readonly slot: number
  readonly slots: number
  readonly constants: number
  /** The predicate depends on the object's own record only: on no other object and no link. */
  readonly isRecordOnly: boolean
  /** The result may change without a write: the predicate depends on the time or on a random number. */
  readonly isUnsteady: boolean
}

/** Limits of a predicate; `message` is the error for a predicate that has statements or, under `mustBeOfRecord`, reads more than the record. */
export interface PredicateLimits {
  readonly tokensMax: number
  readonly mustBeOfRecord: boolean
  readonly message: string
}

/** Throws QuerySyntaxError, LimitExceeded for a text that is too long, and QueryError, also for a predicate with statements. */
export function compilePredicate(
  text: string,
  cls: SchemaClass,
  formats: RecordFormats,
  { tokensMax, mustBeOfRecord, message }: PredicateLimits,
): CompiledPredicate {
  const expression = parsePredicate(text, tokensMax)
  const binder = createPredicateBinder(text, formats, typeOfStatement)
  const slot = binder.newSlot()
  const where = bindWhere(expression, contextScope(slot, { kind: 'reference', cls }, undefined), binder)
  const hasStatements = binder.nested.length + binder.inner.length > 0 || effectOf(expression) !== 'read'
  const traits = { isRecordOnly: isRecordOnly(where), isUnsteady: isUnsteady(where) }
  if (hasStatements || (mustBeOfRecord && !traits.isRecordOnly)) throw binder.error(expression, message)
  const compiler = new Compiler(formats)
  const evaluate = compiler.compile(where)
  return { evaluate, slot, slots: binder.slots, constants: compiler.constants, ...traits }
}
