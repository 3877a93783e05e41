/** Selects the changes to report: objects of a class for which a predicate holds before or after. */
import { AshlarError, truncateForMessage } from '../errors.ts'
import { type CompiledPredicate, compilePredicate } from '../query/compile-predicate.ts'
import type { EvaluationContext } from '../query/evaluate/evaluation-context.ts'
import { ObjectView } from '../query/evaluate/object-view.ts'
import { evaluateRows } from '../query/execute/evaluate-rows.ts'
import { newEvaluationContext } from '../query/execute/new-evaluation-context.ts'
import { type ScriptContext, StatementContext } from '../query/execute/statement-context.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import { didYouMean } from '../schema/names.ts'
import type { Bytes, Snapshot } from '../store/store.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import type { RecordChange } from './decode-change.ts'

export type Matched = 'before' | 'after' | 'both'

const onlyOwnValues =
  'a predicate over changes asks for values that the object itself holds: no other objects, links or statements, which are not kept as they were'

interface FilterRequest {
  readonly className?: string | undefined
  readonly attributes?: readonly string[] | undefined
  readonly where?: string | undefined
}

/** Throws UnknownClass, UnknownAttribute, QuerySyntaxError, LimitExceeded, and QueryError for predicates that need more than the record. */
export class ChangeFilter {
  readonly cls: SchemaClass | undefined
  private readonly attributes: ReadonlySet<AttributeNumber> | undefined
  private readonly where: { readonly bound: CompiledPredicate; readonly context: StatementContext } | undefined
  private evaluation: EvaluationContext | undefined

  constructor(
    { className, attributes, where }: FilterRequest,
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
    this.attributes = attributes && numbersOf(attributes, cls)
    if (where === undefined) return
    if (cls === undefined)
      throw new AshlarError('QueryError', 'A predicate is about the objects of a class: it needs class.')
    const context = new StatementContext({ ...script, text: where }, snapshot, catalog)
    const limits = { tokensMax: script.limits.statementTokensMax, mustBeOfRecord: true, message: onlyOwnValues }
    this.where = { bound: compilePredicate(where, cls, recordFormats(catalog), limits), context }
  }

  get hasPredicate(): boolean {
    return this.where !== undefined
  }

  includes({ attribute }: Pick<AttributeFormat, 'attribute'>): boolean {
    return this.attributes === undefined || this.attributes.has(attribute.number)
  }

  /** The reported part of the change; undefined if there is none. Objects that begin or cease to match are always reported. */
  restrict(change: RecordChange, matched: Matched | 'all'): RecordChange | undefined {
    if (this.attributes === undefined) return change
    const { before, after, format } = change
    const changed = change.changed.filter((one) => this.includes(one))
    const isUpdate = before !== undefined && after !== undefined
    if (isUpdate && changed.length === 0 && (matched === 'all' || matched === 'both')) return undefined
    return { ...change, changed, only: format.attributes.filter((one) => this.includes(one)) }
  }

  includesClass(cls: SchemaClass): boolean {
    return this.cls === undefined || cls.isOrInherits(this.cls.number)
  }

  /** Undefined if the change is not reported; `all` without a predicate. */
  async matched({ oid, format, before, after }: RecordChange): Promise<Matched | 'all' | undefined> {
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
    const [old, now] = await evaluateRows(context, views, (view) => {
      if (view === undefined) return false
      evaluation.slots[bound.slot] = view
      return bound.evaluate(evaluation) === true
    })
    if (old) return now ? 'both' : 'before'
    return now ? 'after' : undefined
  }
}

/** The numbers of all attributes with these names. Throws UnknownAttribute if neither the class nor a subclass has one. */
function numbersOf(names: readonly string[], cls: SchemaClass | undefined): ReadonlySet<AttributeNumber> {
  if (cls === undefined) throw new AshlarError('QueryError', 'Attributes are those of a class: they need class.')
  const all = [cls, ...cls.subclasses].flatMap(({ attributes }) => attributes)
  const found = names.map((name) => {
    const named = all.filter(({ outputName }) => outputName === name)
    if (named.length > 0) return named
    const hint = didYouMean(name, [...new Set(all.map(({ outputName }) => outputName))])
    throw new AshlarError(
      'UnknownAttribute',
      `Class ${cls.name} has no attribute '${truncateForMessage(name)}'.${hint}`,
    )
  })
  return new Set(found.flat().map(({ number }) => number))
}
