/** Object rules, bound to the catalog and compiled; a rule that does not bind holds for nothing. */
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
  private readonly formats: RecordFormats
  private readonly tokensMax: number
  private readonly compiled = new Map<string, CompiledRule | RuleProblem>()

  constructor(formats: RecordFormats, tokensMax: number) {
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
      const limits = { tokensMax: this.tokensMax, mustBeOfRecord: false, message: onlyReads }
      return { text: rule.text, ...compilePredicate(rule.text, rule.cls, this.formats, limits) }
    } catch (error) {
      if (!(error instanceof AshlarError) || error.kind === 'fault') throw error
      return { rule: rule.text, className: rule.cls.name, message: error.message }
    }
  }
}
