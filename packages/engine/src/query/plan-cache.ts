/** Cache of parsed texts and planned statements; a plan is valid for one catalog, dialect, set of text formats and types of variables. */
import { AshlarError } from '../errors.ts'
import { plansBytesMax } from '../limits.ts'
import type { RecordFormats } from '../records/record-formats.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { TimeSlice } from '../store/time-slice.ts'
import { type WorkSpans, withinSpan } from '../work-spans.ts'
import { bindExpression } from './bind/bind-expression.ts'
import { isNameAround } from './bind/bind-path.ts'
import { assignable } from './bind/coercion.ts'
import {
  Binder,
  emptyScope,
  type InnerStatement,
  type NestedBinding,
  type NestedValue,
  type Outer,
  type Scope,
  type VariableTypes,
} from './bind/scope.ts'
import { Compiler } from './evaluate/compile-expression.ts'
import type { Evaluate } from './evaluate/evaluation-context.ts'
import type { Expression, Statement } from './language/ast.ts'
import { type Dialect, dialectDefault } from './language/dialect.ts'
import { liftLiterals, parseLifted } from './parse/lift-literals.ts'
import { parse, statementsOf } from './parse/parse.ts'
import { scalarValue, type TypedValue, typeSignature } from './values/parameter-value.ts'
import type { ConvertScalar } from './values/scalars/scalar-kind.ts'
import { noTextFormats, type TextFormats } from './values/text-format.ts'
import type { ValueType } from './values/value-type.ts'

export interface PlanningContext {
  readonly text: string
  readonly dialect: Dialect
  readonly catalog: Catalog
  readonly formats: RecordFormats
  readonly variables: ReadonlyMap<string, TypedValue>
  readonly walkEdgesMax: number
  /** Set by USE … FORMAT. */
  readonly textFormats: TextFormats
  /** Set for a correlated statement, which is executed for rows of an outer statement. */
  readonly outer?: Outer
  /** The type of a nested statement's value. Throws QueryError for a statement that has no value. */
  readonly typeOfStatement: (statement: Statement, binder: Binder, walkEdgesMax: number) => ValueType
}

/** Plan of an expression outside of a row. */
export interface ValuePlan {
  readonly evaluate: Evaluate
  readonly type: ValueType
  readonly slots: number
  readonly constants: number
}

export interface Planned<P> extends Uses {
  readonly plan: P
}

/** The inputs of a plan. */
export interface Uses {
  /** Uncorrelated statements, in the order of their values. */
  readonly nested: readonly NestedValue[]
  /** Correlated statements, which are executed per row, in order. */
  readonly inner: readonly InnerStatement[]
  /** The variables the plan depends on, by name, with the signatures of their types. Other variables of the text, maybe thousands, are left out. */
  readonly variables: ReadonlyMap<string, string>
  /** Conversions of lifted literals: the plan is valid only for values that convert. */
  readonly conversions: readonly Conversion[]
}

interface Conversion {
  readonly name: string
  readonly convert: ConvertScalar
}

type Plans = WeakMap<Statement | Expression, CachedPlan>

export interface CachedPlan {
  readonly dialect: Dialect
  /** Signature of the text formats. */
  readonly formats: string
  readonly planned: Planned<unknown>
}

/** Types of variables; records which of them were read. */
class TrackedVariables implements VariableTypes {
  readonly signatures = new Map<string, string>()
  readonly conversions: Conversion[] = []
  private readonly variables: ReadonlyMap<string, TypedValue>

  constructor(variables: ReadonlyMap<string, TypedValue>) {
    this.variables = variables
  }

  get(name: string): ValueType | undefined {
    const type = this.variables.get(name)?.type
    if (type !== undefined) this.signatures.set(name, typeSignature(type))
    return type
  }

  requireConvertible(name: string, convert: ConvertScalar): void {
    convert(this.variables.get(name)?.value)
    this.conversions.push({ name, convert })
  }

  has(name: string): boolean {
    return this.variables.has(name)
  }

  keys(): Iterable<string> {
    return this.variables.keys()
  }
}

/** LRU approximation: entries of the elder generation that are not read before the younger is full are evicted, in all caches together. */
class GenerationCache<T> {
  private younger = new Map<string, CacheEntry<T>>()
  private elder: ReadonlyMap<string, CacheEntry<T>> = new Map()
  private readonly generations: Generations

  constructor(generations: Generations) {
    this.generations = generations
    generations.all.push(this)
  }

  get(name: string): T | undefined {
    const cached = this.younger.get(name)
    if (cached !== undefined) return cached.value
    const elder = this.elder.get(name)
    if (elder === undefined) return undefined
    this.enter(name, elder)
    return elder.value
  }

  /** `bytes`: an estimate of the entry and of the plans that will be made from it. */
  set(name: string, value: T, bytes: number): void {
    this.enter(name, { value, bytes })
  }

  begin(): void {
    this.elder = this.younger
    this.younger = new Map()
  }

  private enter(name: string, entry: CacheEntry<T>): void {
    this.generations.take(entry.bytes - (this.younger.get(name)?.bytes ?? 0))
    this.younger.set(name, entry)
  }
}

interface CacheEntry<T> {
  readonly value: T
  readonly bytes: number
}

/** Counts the bytes of the younger generation and starts a new one before they exceed `bytesMax`. */
class Generations {
  readonly all: { begin(): void }[] = []
  private readonly bytesMax: number
  private bytes = 0

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  take(bytes: number): void {
    this.bytes += bytes
    if (this.bytes <= this.bytesMax) return
    for (const cache of this.all) cache.begin()
    this.bytes = bytes
  }
}

/** Overhead of a cached text, whatever its length. */
const entryBytes = 300
/** Bytes of a part of a statement including its share of the plan: measured at 330 to 650, mostly 400, with texts of many forms. */
const partBytes = 400

/** Estimates the memory of a cached text by the parts of its syntax tree: a plan has one or two closures for each. */
function bytesOf(text: string, statements: readonly Statement[] | false): number {
  // A statement that WITH names is shared by its uses and counted once.
  const parts = new Set<object>(statements === false ? [] : [statements])
  for (const part of parts)
    for (const value of Object.values(part)) if (typeof value === 'object' && value !== null) parts.add(value)
  return entryBytes + 2 * text.length + parts.size * partBytes
}

/** Longer texts carry data and rarely recur, so they are not cached. */
export const cachedTextCharactersMax = 20_000

/** A parsed text, ready for execution. */
export interface ParsedText {
  readonly statements: readonly Statement[]
  /** Literals lifted out of the text, by the names of the variables that replace them in the statements. */
  readonly lifted: ReadonlyMap<string, TypedValue>
  /** The text without the lifted literals. */
  readonly shape?: string
}

/** Constraints on the value of an expression outside of a row. */
export interface ValueUse {
  readonly requiredType?: ValueType
  /** See `Scope`. */
  readonly mayDraw?: true
}

const drawingScope: Scope = { ...emptyScope, mayDraw: true }

const noLiterals: ReadonlyMap<string, TypedValue> = new Map()

export class PlanCache {
  /** Numbers of plans found in the cache and of plans made. */
  reused = 0
  made = 0
  private readonly generations = new Generations(plansBytesMax / 2)
  /** Texts without lifted literals. */
  private readonly texts = new GenerationCache<ParsedText>(this.generations)
  /** Statements by the shape of their text; false if texts of this shape are parsed with their literals in place. */
  private readonly shapes = new GenerationCache<readonly Statement[] | false>(this.generations)
  /** A WeakMap, so that plans don't keep a catalog alive. */
  private readonly plansOfCatalogs = new WeakMap<Catalog, Plans>()
  private latest: { readonly catalog: Catalog; readonly plans: Plans } | undefined
  private readonly spans: WorkSpans | undefined

  constructor(spans?: WorkSpans) {
    this.spans = spans
  }

  /** Synchronous. Throws QuerySyntaxError, and LimitExceeded for a statement that is too long. */
  parsed(text: string, statementTokensMax: number): ParsedText {
    return (
      this.texts.get(text) ??
      this.parsedByShape(text, statementTokensMax) ??
      this.parsedAsWritten(text, statementTokensMax)
    )
  }

  /** Parses a long text, which is not cached, and yields between statements. */
  async parsedLong(text: string, statementTokensMax: number, slice: TimeSlice): Promise<ParsedText> {
    const statements: Statement[] = []
    for (const statement of statementsOf(text, statementTokensMax)) {
      statements.push(statement)
      const pause = slice.yieldIfDue()
      if (pause !== undefined) await pause
    }
    return asWritten(statements)
  }

  /** Like `parsed`, but without lifting literals. */
  parsedAsWritten(text: string, statementTokensMax: number): ParsedText {
    const cached = this.texts.get(text)
    if (cached !== undefined) return cached
    const parsed = asWritten(parse(text, statementTokensMax))
    if (text.length <= cachedTextCharactersMax) this.texts.set(text, parsed, bytesOf(text, parsed.statements))
    return parsed
  }

  /** Parses all texts of this shape with their literals in place from now on. */
  disableLifting(shape: string): void {
    this.shapes.set(shape, false, bytesOf(shape, false))
  }

  private parsedByShape(text: string, statementTokensMax: number): ParsedText | undefined {
    const lifted = liftLiterals(text)
    if (lifted === undefined) return undefined
    const { shape, values } = lifted
    let statements = this.shapes.get(shape)
    if (statements === undefined) {
      statements = parseLifted(text, lifted, statementTokensMax) ?? false
      this.shapes.set(shape, statements, bytesOf(shape, statements))
    }
    return statements === false ? undefined : { statements, lifted: typed(values), shape }
  }

  /** Throws QueryError, also if the type is not the required one. */
  value(
    expression: Expression,
    context: PlanningContext,
    { requiredType, mayDraw }: ValueUse = {},
  ): Planned<ValuePlan> {
    return this.planned(expression, context, (binder) => {
      let bound = binder.bind(expression, mayDraw === true ? drawingScope : emptyScope)
      if (requiredType !== undefined) bound = assignable(bound, requiredType, 'what stands here', binder)
      const compiler = new Compiler(context.formats)
      return {
        evaluate: compiler.compile(bound),
        type: bound.type,
        slots: binder.slots,
        constants: compiler.constants,
      }
    })
  }

  /** The cached plan, or the one that `make` returns. */
  planned<P>(statement: Statement | Expression, context: PlanningContext, make: (binder: Binder) => P): Planned<P> {
    const cached = this.cachedPlan<P>(statement, context)
    if (cached !== undefined) return cached
    this.made++
    const { dialect, catalog } = context
    const tracked = new TrackedVariables(context.variables)
    const binder = createBinder(context, tracked, context.outer)
    const plan = withinSpan(this.spans, 'plan', () => make(binder))
    const { signatures: variables, conversions } = tracked
    const planned = { plan, nested: binder.nested, inner: binder.inner, variables, conversions }
    this.plansOf(catalog).set(statement, { dialect, formats: formatsSignature(context.textFormats), planned })
    return planned
  }

  private cachedPlan<P>(statement: Statement | Expression, context: PlanningContext): Planned<P> | undefined {
    const cached = this.lastPlan(statement, context.catalog)
    if (cached === undefined || !isValidFor(cached, context.dialect, context.textFormats, context.variables))
      return undefined
    this.reused++
    return cached.planned as Planned<P>
  }

  /** The last plan made for the catalog; the caller checks with `isValidFor` whether it is valid. */
  lastPlan(statement: Statement | Expression, catalog: Catalog): CachedPlan | undefined {
    return this.plansOf(catalog).get(statement)
  }

  private plansOf(catalog: Catalog): Plans {
    const { latest } = this
    if (latest?.catalog === catalog) return latest.plans
    let plans = this.plansOfCatalogs.get(catalog)
    if (plans === undefined) {
      plans = new WeakMap()
      this.plansOfCatalogs.set(catalog, plans)
    }
    this.latest = { catalog, plans }
    return plans
  }
}

export function isValidFor(
  { dialect, formats, planned }: CachedPlan,
  requestDialect: Dialect,
  textFormats: TextFormats,
  variables: ReadonlyMap<string, TypedValue>,
): boolean {
  if (dialect !== requestDialect || formats !== formatsSignature(textFormats)) return false
  return haveSameTypes(planned.variables, variables) && areConvertible(planned.conversions, variables)
}

function areConvertible(conversions: readonly Conversion[], variables: ReadonlyMap<string, TypedValue>): boolean {
  try {
    for (const { name, convert } of conversions) convert(variables.get(name)?.value)
    return true
  } catch (error) {
    if (error instanceof AshlarError) return false
    throw error
  }
}

function haveSameTypes(signatures: ReadonlyMap<string, string>, variables: ReadonlyMap<string, TypedValue>): boolean {
  for (const [name, signature] of signatures) {
    const variable = variables.get(name)
    if (variable === undefined || typeSignature(variable.type) !== signature) return false
  }
  return true
}

function typed(values: ReadonlyMap<string, string | number>): ReadonlyMap<string, TypedValue> {
  const typedValues = new Map<string, TypedValue>()
  for (const [name, value] of values) typedValues.set(name, scalarValue(value) as TypedValue)
  return typedValues
}

function asWritten(statements: readonly Statement[]): ParsedText {
  return { statements, lifted: noLiterals }
}

function formatsSignature({ date, time, datetime }: TextFormats): string {
  if (date === undefined && time === undefined && datetime === undefined) return ''
  return JSON.stringify([date?.written, time?.written, datetime?.written])
}

/** Binding of a statement that captures nothing from outer rows; shared because WITH may name it in a hundred places. */
interface UncorrelatedBinding {
  readonly binding: NestedBinding
  readonly outer: Outer
}

/** Whether the statement is uncorrelated in another place, too: none of the names it looked up is in scope there. */
function isReusableFor({ outer: { isExists, lookedUp } }: UncorrelatedBinding, around: Outer): boolean {
  return isExists === around.isExists && ![...lookedUp].some((name) => isNameAround(name, around))
}

/** Binder of a predicate over objects, which has no variables. */
export function createPredicateBinder(
  text: string,
  formats: RecordFormats,
  typeOfStatement: PlanningContext['typeOfStatement'],
): Binder {
  return createBinder({
    text,
    dialect: dialectDefault,
    catalog: formats.catalog,
    formats,
    variables: new Map(),
    walkEdgesMax: 0,
    textFormats: noTextFormats,
    typeOfStatement,
  })
}

export function createBinder(
  context: PlanningContext,
  variables = new TrackedVariables(context.variables),
  outer?: Outer,
  uncorrelatedBindings = new Map<Statement, UncorrelatedBinding>(),
): Binder {
  const { text, dialect, catalog, walkEdgesMax, textFormats } = context
  const bindWithin = (statement: Statement, around: Outer): NestedBinding => {
    const cached = uncorrelatedBindings.get(statement)
    if (cached !== undefined && isReusableFor(cached, around)) return cached.binding
    const binder = createBinder(context, variables, around, uncorrelatedBindings)
    const type = context.typeOfStatement(statement, binder, walkEdgesMax)
    const binding = { type, captured: binder.captured, isSingle: binder.isSingle }
    if (binding.captured.size === 0) uncorrelatedBindings.set(statement, { binding, outer: around })
    return binding
  }
  return new Binder(text, dialect, catalog, variables, textFormats, bindExpression, bindWithin, outer)
}
