/** Compiles the expressions of classes once per catalog and evaluates them on the values of objects that are written. */
import { MemoryPool } from '../budget/memory-pool.ts'
import { RequestMemory, unpooledBytes } from '../budget/request-memory.ts'
import { AshlarError, unreachable } from '../errors.ts'
import { defaultEngineLimits, type EngineLimits } from '../limits.ts'
import { acceptedValue } from '../query/change/change-values.ts'
import { Compiler } from '../query/evaluate/compile-expression.ts'
import type { Evaluate, EvaluationContext, NumberReader } from '../query/evaluate/evaluation-context.ts'
import type { ObjectReader } from '../query/evaluate/object-view.ts'
import { ValuesView } from '../query/evaluate/values-view.ts'
import { plainEvaluationContext } from '../query/execute/new-evaluation-context.ts'
import { Work } from '../query/functions/work.ts'
import { ticksNow } from '../query/prepare-text.ts'
import type { UserValue } from '../query/values/user.ts'
import type { ValueType } from '../query/values/value-type.ts'
import {
  type AttributeFormat,
  type ClassFormat,
  type ComputedValue,
  embeddedIn,
  type FormatSource,
  provideComputedValues,
} from '../records/class-format.ts'
import type { ObjectCheck } from '../records/constraints.ts'
import { creationValue, unevaluated } from '../records/creation-value.ts'
import { recordFormats } from '../records/record-formats.ts'
import { mapValues } from '../records/visit-values.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import { type BoundExpression, expressionText, isExpression, type SchemaExpression } from '../schema/expression.ts'
import { attributesUsed, describeSite, type ExpressionSite, namesIn } from '../schema/expression-uses.ts'
import { withConvertedTypes } from '../schema/rechecked-checks.ts'
import { sequenceNamed } from '../schema/sequence-definition.ts'
import type { Awaitable } from '../store/store.ts'
import { runToEnd, runYieldingIfLong } from '../store/time-slice.ts'
import { ValueError } from '../types/logical-type.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import type { ObjectExpressions, ValueExpression } from '../write/object-expressions.ts'
import { countedLinks, countsReferences } from './counted-links.ts'
import { expressionParts, type NamedPlace } from './expression-parts.ts'
import { bindOwnExpression } from './own-expression.ts'

/** Upper bound on the checks of `Work`, which run about once per millisecond. */
const checksOfWorkMax = 1_000

/** An own expression never reads other objects. Links that a check counts are counted before it is evaluated. */
const noObjects: ObjectReader = {
  object: () => unreachable('an own expression follows no reference'),
  objectAt: () => unreachable('an own expression follows no reference'),
  request: () => unreachable('an own expression follows no reference'),
  prefetch: () => undefined,
  links: () => unreachable('an own expression reads no links'),
  endLinks: () => unreachable('an own expression reads no links'),
  linkCount: (view, { index }) => view.value(index) as number,
  linkEntries: () => unreachable('an own expression reads no links'),
}

interface Compiled {
  readonly evaluate: Evaluate
  readonly slot: number
  readonly slots: number
  readonly constants: number
  readonly draws: readonly string[]
  readonly text: string
  readonly type: ValueType
  readonly countedLinks: ReadonlyMap<AttributeNumber, number>
  readonly countsReferences: boolean
}

export class CompiledExpressions implements ObjectExpressions {
  private readonly pool: MemoryPool
  private readonly limits: EngineLimits
  private readonly checks = new WeakMap<ClassFormat, readonly ObjectCheck[]>()
  private readonly preparing = new WeakMap<ClassFormat, Promise<void>>()
  private readonly prepared = new WeakSet<ClassFormat>()
  private readonly values = {
    default: new WeakMap<ClassFormat, readonly ValueExpression[]>(),
    onUpdate: new WeakMap<ClassFormat, readonly ValueExpression[]>(),
  }

  constructor(pool: MemoryPool, limits: EngineLimits) {
    this.pool = pool
    this.limits = { ...limits, statementBytesMax: Math.min(limits.statementBytesMax, unpooledBytes) }
  }

  bind(text: string, site: ExpressionSite, cls: SchemaClass, catalog: Catalog, isStored: boolean): BoundExpression {
    const places: NamedPlace[] = []
    const { isFollowing, draws } = bindOwnExpression(text, site, cls, catalog, isStored, (span, found) => {
      const { start, end } = span
      places.push('spec' in found ? { start, end, attribute: found.number } : { start, end, class: found.number })
    })
    const parts = expressionParts(text, places, catalog)
    const sequences = [...new Set(draws)].map((name) => sequenceNamed(catalog, name).number)
    return {
      parts,
      ...(isStored ? { isStored } : {}),
      ...(isFollowing ? { isFollowing } : {}),
      ...(sequences.length > 0 ? { sequences } : {}),
    }
  }

  isFalseForDefaults(check: SchemaExpression, site: ExpressionSite, cls: SchemaClass, catalog: Catalog): boolean {
    const format = recordFormats(catalog).byNumber(cls.number)
    const values: unknown[] = []
    for (const index of usedIndexes(check, format))
      values[index] = creationValue(format.attributes[index] as AttributeFormat)
    const compiled = this.compile(check as BoundExpression, site, cls, catalog)
    try {
      return this.valueOf(compiled, objectOf(format, values), null, cls.name, (value) => value) === false
    } catch (error) {
      // What cannot be evaluated is decided when objects are created.
      if (error instanceof AshlarError && error.kind !== 'fault') return false
      throw error
    }
  }

  prepare(format: ClassFormat, formats: FormatSource): Awaitable<void> {
    if (this.prepared.has(format)) return undefined
    const known = this.preparing.get(format)
    if (known !== undefined) return known
    const work = runYieldingIfLong(this.preparingSteps(format, formats, new Set()))
    if (!(work instanceof Promise)) return undefined
    const preparing = work.finally(() => this.preparing.delete(format))
    this.preparing.set(format, preparing)
    return preparing
  }

  private *preparingSteps(
    format: ClassFormat,
    formats: FormatSource,
    seen: Set<ClassFormat>,
  ): Generator<undefined, void> {
    if (seen.has(format)) return
    seen.add(format)
    yield* this.checkSteps(format, formats)
    yield* this.valueSteps('default', format, formats.catalog)
    yield* this.valueSteps('onUpdate', format, formats.catalog)
    for (const { index } of format.computedAttributes) {
      yield
      format.computedAt(index)
    }
    for (const attribute of format.attributes) {
      const inner = embeddedIn(attribute)
      if (inner?.hasProperties === true) yield* this.preparingSteps(inner, formats, seen)
    }
    this.prepared.add(format)
  }

  checksOf(format: ClassFormat, formats: FormatSource): readonly ObjectCheck[] {
    return this.checks.get(format) ?? runToEnd(this.checkSteps(format, formats))
  }

  private *checkSteps(format: ClassFormat, formats: FormatSource): Generator<undefined, readonly ObjectCheck[]> {
    let checks = this.checks.get(format)
    if (checks === undefined) {
      checks = yield* this.presentChecks(format, formats)
      const { catalog } = formats
      const next = withConvertedTypes(catalog)
      if (next !== catalog && checks.length > 0)
        checks = [...checks, ...(yield* this.checksToCome(checks, format, formats, next))]
      this.checks.set(format, checks)
    }
    return checks
  }

  private *presentChecks(format: ClassFormat, { catalog }: FormatSource): Generator<undefined, readonly ObjectCheck[]> {
    const found: ObjectCheck[] = []
    for (const cls of lineageOf(format.cls)) {
      for (const check of this.declaredChecks(cls, format, catalog)) {
        found.push(check)
        yield
      }
    }
    return found
  }

  /** The same checks over the values that the attributes will have once their types have changed. `next`: the catalog with the new types. */
  private *checksToCome(
    present: readonly ObjectCheck[],
    format: ClassFormat,
    formats: FormatSource,
    next: Catalog,
  ): Generator<undefined, readonly ObjectCheck[]> {
    const nextFormats = recordFormats(next)
    const nextChecks = yield* this.presentChecks(nextFormats.byNumber(format.cls.number), nextFormats)
    return nextChecks.map((check, i): ObjectCheck => {
      const now = present[i] as ObjectCheck
      const isBrokenBy = (values: readonly unknown[]): boolean => {
        return !now.isBrokenBy(values) && check.isBrokenBy(convertedValues(format, values, formats))
      }
      return { ...check, isValidated: false, usesPendingTypes: true, isBrokenBy }
    })
  }

  defaultsOf(format: ClassFormat, { catalog }: FormatSource): readonly ValueExpression[] {
    return this.values.default.get(format) ?? runToEnd(this.valueSteps('default', format, catalog))
  }

  updatesOf(format: ClassFormat, { catalog }: FormatSource): readonly ValueExpression[] {
    return this.values.onUpdate.get(format) ?? runToEnd(this.valueSteps('onUpdate', format, catalog))
  }

  private *declaredChecks(cls: SchemaClass, format: ClassFormat, catalog: Catalog): Generator<ObjectCheck> {
    const { properties, pendingChecks = [] } = cls.definition
    const present = (properties?.checks ?? []).map((check) => ({ ...check, isPending: false }))
    const all = [...present, ...pendingChecks.map((check) => ({ ...check, isPending: true }))]
    for (const { name, expression, message, isValidated, isPending } of all) {
      const site: ExpressionSite = { kind: 'checks', name, attribute: undefined }
      const compiled = this.compile(expression as BoundExpression, site, cls, catalog)
      yield {
        name,
        owner: cls.number,
        isValidated: isValidated !== false && !isPending,
        message: message ?? `${compiled.text} has to hold`,
        indexes: usedIndexes(expression, format),
        counts: new Map([...compiled.countedLinks].map(([number, max]) => [format.attribute(number).index, max])),
        isDeferrable: compiled.countsReferences,
        isBrokenBy: (values) => {
          const what = describeSite(cls.name, site)
          return this.valueOf(compiled, objectOf(format, values), null, what, (value) => value) === false
        },
      }
    }
  }

  private *valueSteps(
    kind: 'default' | 'onUpdate',
    format: ClassFormat,
    catalog: Catalog,
  ): Generator<undefined, readonly ValueExpression[]> {
    const known = this.values[kind].get(format)
    if (known !== undefined) return known
    const found: ValueExpression[] = []
    for (const { attribute, codec, index } of format.attributes) {
      const expression = attribute.properties?.own[kind]
      if (!isExpression(expression) || (attribute.spec.logicalType as string) === 'json') continue
      const cls = attribute.declaringClass
      const site: ExpressionSite = { kind, name: attribute.name, attribute }
      const what = describeSite(cls.name, site)
      const compiled = this.compile(expression as BoundExpression, site, cls, catalog)
      const valueFor: ValueExpression['valueFor'] = (values, user, numbers) => {
        const accept = (value: unknown): unknown => acceptedValue(codec, compiled.type, value, catalog)
        return this.valueOf(compiled, objectOf(format, values), user as UserValue, what, accept, numbers)
      }
      found.push({ index, valueFor, draws: compiled.draws })
      yield
    }
    this.values[kind].set(format, found)
    return found
  }

  /** `attribute`: belongs to a class of `catalog`. */
  computedValue({ attribute, codec }: AttributeFormat, catalog: Catalog): ComputedValue {
    const expression = attribute.properties?.own.computed as BoundExpression
    const site: ExpressionSite = { kind: 'computed', name: attribute.name, attribute }
    const cls = attribute.declaringClass
    const compiled = this.compile(expression, site, cls, catalog)
    const what = describeSite(cls.name, site)
    const accept = (value: unknown): unknown => acceptedValue(codec, compiled.type, value, catalog)
    const evaluation = new Evaluation(compiled, null, this.newMemory(), this.limits)
    return {
      isStored: expression.isStored === true,
      valueOf: (object) => {
        try {
          const source = typeof object === 'function' ? new ReadView(object) : object
          return inWords(what, () => accept(evaluation.valueOf(source)))
        } catch (error) {
          // An expression that fails to evaluate must not make its object unreadable.
          if (error instanceof AshlarError && error.kind !== 'fault') return accept(null)
          throw error
        }
      },
    }
  }

  private valueOf(
    compiled: Compiled,
    object: unknown,
    user: UserValue,
    what: string,
    accept: (value: unknown) => unknown,
    numbers?: NumberReader,
  ): unknown {
    const evaluation = new Evaluation(compiled, user, this.newMemory(), this.limits, numbers)
    return inWords(what, () => accept(evaluation.valueOf(object)))
  }

  private newMemory(): RequestMemory {
    const { pool, limits } = this
    const limit = limits.statementBytesMax < unpooledBytes ? 'statementBytesMax' : 'expressionBytesMax'
    return new RequestMemory(pool, limits, undefined, limit)
  }

  private compile(expression: BoundExpression, site: ExpressionSite, cls: SchemaClass, catalog: Catalog): Compiled {
    const text = expressionText(expression, namesIn(catalog))
    const { bound, binder, slot, draws } = bindOwnExpression(text, site, cls, catalog, expression.isStored === true)
    const compiler = new Compiler(binder.formats)
    const evaluate = compiler.compile(bound)
    const compiled = {
      evaluate,
      slot,
      slots: binder.slots,
      constants: compiler.constants,
      type: bound.type,
      text,
      draws,
    }
    return { ...compiled, countedLinks: countedLinks(bound, slot), countsReferences: countsReferences(bound) }
  }
}

/** Evaluates an expression on one object after the other. */
class Evaluation {
  private readonly compiled: Compiled
  private readonly memory: RequestMemory
  private readonly context: EvaluationContext
  private checks = 0

  constructor(
    compiled: Compiled,
    user: UserValue,
    memory: RequestMemory,
    limits: EngineLimits,
    numbers?: NumberReader,
  ) {
    this.compiled = compiled
    this.memory = memory
    const { slots, constants, text } = compiled
    const work = new Work(() => {
      if (++this.checks > checksOfWorkMax) throw new AshlarError('LimitExceeded', 'The expression takes too long.')
    })
    const script = { now: ticksNow(), user, text, memory, limits }
    this.context = plainEvaluationContext(slots, constants, noVariables, { script, work, reader: noObjects, numbers })
  }

  valueOf(object: unknown): unknown {
    const { compiled, context, memory } = this
    const { slots } = context
    this.checks = 0
    slots[compiled.slot] = object
    try {
      return compiled.evaluate(context) ?? null
    } finally {
      slots[compiled.slot] = undefined
      memory.release()
    }
  }
}

const noVariables: EvaluationContext['variables'] = new Map()

/** Superclasses first, then the class itself. */
function lineageOf(cls: SchemaClass): SchemaClass[] {
  return cls.superClass === null ? [cls] : [...lineageOf(cls.superClass), cls]
}

/** A view of an object of which only the values are known, with the number of links for a collection stored as links; computed attributes are evaluated. */
class ReadView extends ValuesView {
  private readonly read: (index: number) => unknown

  constructor(read: (index: number) => unknown) {
    super([])
    this.read = read
  }

  override get isMissing(): boolean {
    return false
  }

  override value(index: number): unknown {
    return this.read(index)
  }
}

/** The values after the pending changes of types. */
function convertedValues(format: ClassFormat, values: readonly unknown[], formats: FormatSource): unknown[] {
  return mapValues(format, values, formats, ({ pendingType }, value) => {
    return pendingType === undefined || value === null || value === unevaluated ? value : pendingType.convert(value)
  })
}

/** Indexes of the attributes that the expression depends on. */
function usedIndexes(expression: SchemaExpression, format: ClassFormat): ReadonlySet<number> {
  const used = attributesUsed(expression, (number) => format.find(number)?.attribute)
  return new Set([...used].map((number) => format.attribute(number).index))
}

/** The object in the form that expressions of the class operate on. */
function objectOf(format: ClassFormat, values: readonly unknown[]): unknown {
  return format.cls.isReferenceable ? new ReadView((index) => format.valueIn(values, index)) : values
}

/** Adds the place of the expression to evaluation errors. */
function inWords<T>(what: string, evaluate: () => T): T {
  try {
    return evaluate()
  } catch (error) {
    if (error instanceof ValueError) throw new AshlarError('ValueNotAllowed', `${what}: ${error.message}.`)
    if (!(error instanceof AshlarError) || error.kind === 'fault') throw error
    throw new AshlarError(error.type, `${what}: ${error.message}`)
  }
}

/** Records are decoded without access to a database, so computed attributes use a pool of their own, a few rows in size. */
const recordExpressions = new CompiledExpressions(new MemoryPool(), defaultEngineLimits)

provideComputedValues((attribute, catalog) => recordExpressions.computedValue(attribute, catalog))
