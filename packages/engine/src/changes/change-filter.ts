/** Which changes are told: those of objects of a class for which a predicate holds before or after. */
import { AshlarError } from '../errors.ts'
import { bindWhere } from '../query/bind/bind-select.ts'
import { contextScope } from '../query/bind/scope.ts'
import { effectOf } from '../query/classify.ts'
import { Compiler } from '../query/evaluate/compile-expression.ts'
import type { Evaluate, EvaluationContext } from '../query/evaluate/evaluation-context.ts'
import { ObjectView } from '../query/evaluate/object-view.ts'
import { evaluateRows } from '../query/execute/evaluate-rows.ts'
import { newEvaluationContext } from '../query/execute/new-evaluation-context.ts'
import { type ScriptContext, StatementContext } from '../query/execute/statement-context.ts'
import { dialectDefault } from '../query/language/dialect.ts'
import { isOfRecord } from '../query/operators/filter.ts'
import { parsePredicate } from '../query/parse/parse.ts'
import { createBinder } from '../query/plan-cache.ts'
import { typeOfStatement } from '../query/statements/statement-kinds.ts'
import { noTextFormats } from '../query/values/text-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import { truncateForMessage } from '../schema/command-error.ts'
import { didYouMean } from '../schema/names.ts'
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable, Bytes, Snapshot } from '../store/store.ts'
import type { RecordChange } from './decode-change.ts'

export type Matched = 'before' | 'after' | 'both'

interface BoundPredicate {
  readonly evaluate: Evaluate
  readonly slot: number
  readonly slots: number
  readonly constants: number
}

/** Throws UnknownClass, QuerySyntaxError, QueryError for what the record alone does not decide, LimitExceeded. */
export class ChangeFilter {
  readonly cls: SchemaClass | undefined
  private readonly where: { readonly bound: BoundPredicate; readonly context: StatementContext } | undefined
  private evaluation: EvaluationContext | undefined

  constructor(
    { className, where }: { readonly className?: string | undefined; readonly where?: string | undefined },
    script: ScriptContext,
    snapshot: Snapshot,
    catalog: Catalog,
  ) {
    const cls = className === undefined ? undefined : catalog.findClass(className)
    if (className !== undefined && cls === undefined) {
      const names = catalog.classes.map(({ name }) => name)
      const hint = didYouMean(className, names)
      throw new AshlarError('UnknownClass', `There is no class '${truncateForMessage(className)}'.${hint}`)
    }
    this.cls = cls
    if (where === undefined) return
    if (cls === undefined)
      throw new AshlarError('QueryError', 'A predicate is about the objects of a class: it needs class.')
    const context = new StatementContext({ ...script, text: where }, snapshot, catalog)
    this.where = { bound: bindPredicate(where, cls, catalog, script.limits.statementTokensMax), context }
  }

  get hasPredicate(): boolean {
    return this.where !== undefined
  }

  isOfClass(cls: SchemaClass): boolean {
    return this.cls === undefined || cls.isOrInherits(this.cls.number)
  }

  /** Undefined where the change is not told; without a predicate, all are. */
  matched({ oid, format, before, after }: RecordChange): Awaitable<Matched | 'all' | undefined> {
    const { where } = this
    if (where === undefined) return 'all'
    const { bound, context } = where
    this.evaluation ??= newEvaluationContext(
      bound.slots,
      bound.constants,
      { variables: new Map(), nested: [] },
      context,
    )
    const { evaluation } = this
    const views = [before, after].map((record: Bytes | undefined) => {
      return record === undefined ? undefined : new ObjectView(oid, undefined, format, record)
    })
    const holds = evaluateRows(context, views, (view) => {
      if (view === undefined) return false
      evaluation.slots[bound.slot] = view
      return bound.evaluate(evaluation) === true
    })
    return mapAwaitable(holds, ([old, now]) => (old ? (now ? 'both' : 'before') : now ? 'after' : undefined))
  }
}

function bindPredicate(text: string, cls: SchemaClass, catalog: Catalog, tokensMax: number): BoundPredicate {
  const expression = parsePredicate(text, tokensMax)
  const formats = recordFormats(catalog)
  const binder = createBinder({
    text,
    dialect: dialectDefault,
    catalog,
    formats,
    variables: new Map(),
    walkEdgesMax: 0,
    textFormats: noTextFormats,
    typeOfStatement,
  })
  const slot = binder.newSlot()
  const where = bindWhere(expression, contextScope(slot, { kind: 'reference', cls }, undefined), binder)
  if (binder.nested.length + binder.inner.length > 0 || effectOf(expression) !== 'read' || !isOfRecord(where)) {
    const rule =
      'a predicate over changes asks for values that the object itself holds: no other objects, links or statements, which are not kept as they were'
    throw binder.error(expression, rule)
  }
  const compiler = new Compiler(formats)
  return { evaluate: compiler.compile(where), slot, slots: binder.slots, constants: compiler.constants }
}
