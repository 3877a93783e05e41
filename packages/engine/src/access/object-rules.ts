/** Object rules, bound to the catalog and compiled; a rule that cannot be bound matches no object. */
import { AshlarError } from '../errors.ts'
import { defaultEngineLimits } from '../limits.ts'
import { effectOf } from '../query/classify.ts'
import { type CompiledPredicate, compilePredicate } from '../query/compile-predicate.ts'
import { parsePredicate } from '../query/parse/parse.ts'
import type { RecordFormats } from '../records/record-formats.ts'
import type { ClassRule } from './class-access.ts'

export interface CompiledRule extends CompiledPredicate {
  readonly text: string
}

/** Why a rule matches nothing. */
interface RuleProblem {
  readonly rule: string
  readonly className: string
  readonly message: string
}

/** Independent of the catalog. Throws QuerySyntaxError, LimitExceeded for rules that are too long, QueryError for rules that do more than read. */
export function checkRule(text: string, tokensMax = defaultEngineLimits.statementTokensMax): void {
  if (effectOf(parsePredicate(text, tokensMax)) !== 'read') throw new AshlarError('QueryError', onlyReadsMessage)
}

const onlyReadsMessage = 'a rule is a predicate over the object and $$USER, without statements'

/** Rules of one catalog, compiled on demand. */
export class ObjectRules {
  private readonly formats: RecordFormats
  private readonly tokensMax: number
  private readonly compiled = new Map<string, CompiledRule | RuleProblem>()

  constructor(formats: RecordFormats, tokensMax: number) {
    this.formats = formats
    this.tokensMax = tokensMax
  }

  /** Undefined where the rule cannot be bound. */
  compile(rule: ClassRule): CompiledRule | undefined {
    const result = this.result(rule)
    return 'evaluate' in result ? result : undefined
  }

  problem(rule: ClassRule): RuleProblem | undefined {
    const result = this.result(rule)
    return 'evaluate' in result ? undefined : result
  }

  private result(rule: ClassRule): CompiledRule | RuleProblem {
    const name = `${rule.cls.number} ${rule.text}`
    let result = this.compiled.get(name)
    if (result === undefined) {
      result = this.attempt(rule)
      this.compiled.set(name, result)
    }
    return result
  }

  private attempt(rule: ClassRule): CompiledRule | RuleProblem {
    try {
      const limits = { tokensMax: this.tokensMax, mustBeOfRecord: false, message: onlyReadsMessage }
      return { text: rule.text, ...compilePredicate(rule.text, rule.cls, this.formats, limits) }
    } catch (error) {
      if (!(error instanceof AshlarError) || error.kind === 'fault') throw error
      return { rule: rule.text, className: rule.cls.name, message: error.message }
    }
  }
}
