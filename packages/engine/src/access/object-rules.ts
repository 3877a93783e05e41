/** Object rules, bound to the catalog and compiled; a rule that does not bind holds for nothing. */
import { AshlarError } from '../errors.ts'
import { defaultEngineLimits } from '../limits.ts'
import { bindWhere } from '../query/bind/bind-select.ts'
import { isUnsteady } from '../query/bind/bound.ts'
import { isOfRecord } from '../query/bind/of-record.ts'
import { contextScope } from '../query/bind/scope.ts'
import { effectOf } from '../query/classify.ts'
import { Compiler } from '../query/evaluate/compile-expression.ts'
import type { Evaluate } from '../query/evaluate/evaluation-context.ts'
import { dialectDefault } from '../query/language/dialect.ts'
import { parsePredicate } from '../query/parse/parse.ts'
import { createBinder } from '../query/plan-cache.ts'
import { typeOfStatement } from '../query/statements/statement-kinds.ts'
import { noTextFormats } from '../query/values/text-format.ts'
import type { RecordFormats } from '../records/record-formats.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { ClassRule } from './class-access.ts'

export interface CompiledRule {
  readonly text: string
  /** True where the rule holds for the object in `slot`. */
  readonly evaluate: Evaluate
  readonly slot: number
  readonly slots: number
  readonly constants: number
  /** The record of the object alone decides it: no other object, no link. */
  readonly isOfRecord: boolean
  /** It may hold or not although nothing was written: by the time, or by chance. */
  readonly isUnsteady: boolean
}

/** Why a rule holds for nothing. */
interface RuleProblem {
  readonly rule: string
  readonly className: string
  readonly message: string
}

/** Throws QuerySyntaxError, LimitExceeded for one too long, QueryError for one that does not only read: whatever the catalog is. */
export function checkRule(text: string, tokensMax = defaultEngineLimits.statementTokensMax): void {
  if (effectOf(parsePredicate(text, tokensMax)) !== 'read') throw new AshlarError('QueryError', onlyReads)
}

const onlyReads = 'a rule is a predicate over the object and $$USER, without statements'

/** The rules of one catalog, compiled when they are first asked for. */
export class ObjectRules {
  private readonly catalog: Catalog
  private readonly formats: RecordFormats
  private readonly tokensMax: number
  private readonly compiled = new Map<string, CompiledRule | RuleProblem>()

  constructor(catalog: Catalog, formats: RecordFormats, tokensMax: number) {
    this.catalog = catalog
    this.formats = formats
    this.tokensMax = tokensMax
  }

  /** Undefined for one that does not bind. */
  compile(rule: ClassRule): CompiledRule | undefined {
    const made = this.made(rule)
    return 'evaluate' in made ? made : undefined
  }

  problem(rule: ClassRule): RuleProblem | undefined {
    const made = this.made(rule)
    return 'evaluate' in made ? undefined : made
  }

  private made(rule: ClassRule): CompiledRule | RuleProblem {
    const name = `${rule.cls.number} ${rule.text}`
    let made = this.compiled.get(name)
    if (made === undefined) {
      made = this.attempt(rule)
      this.compiled.set(name, made)
    }
    return made
  }

  private attempt(rule: ClassRule): CompiledRule | RuleProblem {
    try {
      return this.bind(rule)
    } catch (error) {
      if (!(error instanceof AshlarError) || error.kind === 'fault') throw error
      return { rule: rule.text, className: rule.cls.name, message: error.message }
    }
  }

  private bind({ text, cls }: ClassRule): CompiledRule {
    const expression = parsePredicate(text, this.tokensMax)
    const binder = createBinder({
      text,
      dialect: dialectDefault,
      catalog: this.catalog,
      formats: this.formats,
      variables: new Map(),
      walkEdgesMax: 0,
      textFormats: noTextFormats,
      typeOfStatement,
    })
    const slot = binder.newSlot()
    const where = bindWhere(expression, contextScope(slot, { kind: 'reference', cls }, undefined), binder)
    if (binder.nested.length + binder.inner.length > 0 || effectOf(expression) !== 'read') {
      throw binder.error(expression, onlyReads)
    }
    const compiler = new Compiler(this.formats)
    const evaluate = compiler.compile(where)
    const { slots } = binder
    const decided = { isOfRecord: isOfRecord(where), isUnsteady: isUnsteady(where) }
    return { text, evaluate, slot, slots, constants: compiler.constants, ...decided }
  }
}
