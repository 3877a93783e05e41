/** The expressions of classes, compiled once for each catalog, and evaluated on the values of objects that are written. */
import type { MemoryPool } from '../budget/memory-pool.ts'
import { ownBytes, RequestMemory } from '../budget/request-memory.ts'
import { AshlarError, unreachable } from '../errors.ts'
import type { EngineLimits } from '../limits.ts'
import { acceptedValue } from '../query/change/change-values.ts'
import { Compiler } from '../query/evaluate/compile-expression.ts'
import type { Evaluate, EvaluationContext } from '../query/evaluate/evaluation-context.ts'
import type { ObjectReader } from '../query/evaluate/object-view.ts'
import { ValuesView } from '../query/evaluate/values-view.ts'
import { plainEvaluationContext } from '../query/execute/new-evaluation-context.ts'
import { Work } from '../query/functions/work.ts'
import { ticksNow } from '../query/prepare-text.ts'
import type { UserValue } from '../query/values/user.ts'
import type { ValueType } from '../query/values/value-type.ts'
import type { ClassFormat, FormatSource } from '../records/class-format.ts'
import type { ObjectCheck } from '../records/constraints.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import { describeSite, type ExpressionSite, namesIn } from '../schema/class-expressions.ts'
import { attributesNamed, type BoundExpression, expressionText, isExpression } from '../schema/expression.ts'
import { ValueError } from '../types/logical-type.ts'
import type { ObjectExpressions, ValueExpression } from '../write/object-expressions.ts'
import { expressionParts, type NamedPlace } from './expression-parts.ts'
import { bindOwnExpression } from './own-expression.ts'

/** Of the checks of `Work`, each after a millisecond or so. */
const checksOfWorkMax = 1_000

/** What an own expression does not ask for. */
const noObjects: ObjectReader = {
  object: () => unreachable('an own expression follows no reference'),
  objectAt: () => unreachable('an own expression follows no reference'),
  ask: () => unreachable('an own expression follows no reference'),
  prefetch: () => undefined,
  links: () => unreachable('an own expression reads no links'),
  endLinks: () => unreachable('an own expression reads no links'),
  linkCount: () => unreachable('an own expression reads no links'),
  linkEntries: () => unreachable('an own expression reads no links'),
}

interface Compiled {
  readonly evaluate: Evaluate
  readonly slot: number
  readonly slots: number
  readonly constants: number
  readonly text: string
  readonly type: ValueType
}

export class CompiledExpressions implements ObjectExpressions {
  private readonly pool: MemoryPool
  private readonly limits: EngineLimits
  private readonly checks = new WeakMap<ClassFormat, readonly ObjectCheck[]>()
  private readonly values = {
    default: new WeakMap<ClassFormat, readonly ValueExpression[]>(),
    onUpdate: new WeakMap<ClassFormat, readonly ValueExpression[]>(),
  }

  constructor(pool: MemoryPool, limits: EngineLimits) {
    this.pool = pool
    this.limits = { ...limits, statementBytesMax: Math.min(limits.statementBytesMax, ownBytes) }
  }

  bind(text: string, site: ExpressionSite, cls: SchemaClass, catalog: Catalog): BoundExpression {
    const places: NamedPlace[] = []
    bindOwnExpression(text, site, cls, catalog, (span, found) => {
      const { start, end } = span
      places.push('spec' in found ? { start, end, attribute: found.number } : { start, end, class: found.number })
    })
    return { parts: expressionParts(text, places, catalog) }
  }

  checksOf(format: ClassFormat, { catalog }: FormatSource): readonly ObjectCheck[] {
    let checks = this.checks.get(format)
    if (checks === undefined) {
      checks = lineageOf(format.cls).flatMap((cls) => this.ownChecks(cls, format, catalog))
      this.checks.set(format, checks)
    }
    return checks
  }

  defaultsOf(format: ClassFormat, { catalog }: FormatSource): readonly ValueExpression[] {
    return this.valuesOf('default', format, catalog)
  }

  updatesOf(format: ClassFormat, { catalog }: FormatSource): readonly ValueExpression[] {
    return this.valuesOf('onUpdate', format, catalog)
  }

  private ownChecks(cls: SchemaClass, format: ClassFormat, catalog: Catalog): ObjectCheck[] {
    return (cls.definition.properties?.checks ?? []).map(({ name, expression, message }) => {
      const site: ExpressionSite = { kind: 'checks', name, attribute: undefined }
      const compiled = this.compile(expression as BoundExpression, site, cls, catalog)
      const numbers = attributesNamed(expression)
      return {
        name,
        message: message ?? `${compiled.text} has to hold`,
        indexes: new Set(numbers.flatMap((number) => format.find(number)?.index ?? [])),
        isBrokenBy: (values) => {
          const isKept = this.valueOf(compiled, cls, values, null, describeSite(cls.name, site), (value) => value)
          return isKept === false
        },
      }
    })
  }

  private valuesOf(kind: 'default' | 'onUpdate', format: ClassFormat, catalog: Catalog): readonly ValueExpression[] {
    let found = this.values[kind].get(format)
    if (found === undefined) {
      found = format.attributes.flatMap(({ attribute, codec, index }) => {
        const expression = attribute.properties?.own[kind]
        if (!isExpression(expression)) return []
        const cls = attribute.declaringClass
        const site: ExpressionSite = { kind, name: attribute.name, attribute }
        const what = describeSite(cls.name, site)
        const compiled = this.compile(expression as BoundExpression, site, cls, catalog)
        const valueFor: ValueExpression['valueFor'] = (values, user) => {
          return this.valueOf(compiled, cls, values, user as UserValue, what, (value) =>
            acceptedValue(codec, compiled.type, value, catalog),
          )
        }
        return { index, valueFor }
      })
      this.values[kind].set(format, found)
    }
    return found
  }

  private valueOf(
    compiled: Compiled,
    cls: SchemaClass,
    values: readonly unknown[],
    user: UserValue,
    what: string,
    accept: (value: unknown) => unknown,
  ): unknown {
    const memory = new RequestMemory(this.pool, this.limits)
    try {
      return inWords(what, () => accept(evaluated(compiled, this.evaluationOf(compiled, user, memory), cls, values)))
    } finally {
      memory.release()
    }
  }

  private compile(expression: BoundExpression, site: ExpressionSite, cls: SchemaClass, catalog: Catalog): Compiled {
    const text = expressionText(expression, namesIn(catalog))
    const { bound, binder, slot } = bindOwnExpression(text, site, cls, catalog)
    const compiler = new Compiler(binder.formats)
    const evaluate = compiler.compile(bound)
    return { evaluate, slot, slots: binder.slots, constants: compiler.constants, type: bound.type, text }
  }

  private evaluationOf(
    { slots, constants, text }: Compiled,
    user: UserValue,
    memory: RequestMemory,
  ): EvaluationContext {
    let checks = 0
    const work = new Work(() => {
      if (++checks > checksOfWorkMax) throw new AshlarError('LimitExceeded', 'The expression takes too long.')
    })
    const script = { now: ticksNow(), user, text, memory, limits: this.limits }
    return plainEvaluationContext(slots, constants, noVariables, { script, work, reader: noObjects })
  }
}

const noVariables: EvaluationContext['variables'] = new Map()

/** The class itself, after those that it inherits from. */
function lineageOf(cls: SchemaClass): SchemaClass[] {
  return cls.superClass === null ? [cls] : [...lineageOf(cls.superClass), cls]
}

function evaluated(
  { evaluate, slot }: Compiled,
  evaluation: EvaluationContext,
  cls: SchemaClass,
  values: readonly unknown[],
): unknown {
  evaluation.slots[slot] = cls.isReferenceable ? new ValuesView(values) : values
  return evaluate(evaluation) ?? null
}

/** What an expression cannot be worked out for is refused, with where the expression is. */
function inWords<T>(what: string, evaluate: () => T): T {
  try {
    return evaluate()
  } catch (error) {
    if (error instanceof ValueError) throw new AshlarError('ValueNotAllowed', `${what}: ${error.message}.`)
    if (!(error instanceof AshlarError) || error.kind === 'fault') throw error
    throw new AshlarError(error.type, `${what}: ${error.message}`)
  }
}
