/** A compiled object rule with its evaluation context. */
import { AshlarError } from '../errors.ts'
import type { EvaluationContext } from '../query/evaluate/evaluation-context.ts'
import type { ObjectView } from '../query/evaluate/object-view.ts'
import { type Inputs, newEvaluationContext } from '../query/execute/new-evaluation-context.ts'
import type { StatementContext } from '../query/execute/statement-context.ts'
import { ValueError } from '../types/logical-type.ts'
import type { CompiledRule } from './object-rules.ts'

export interface ActiveRule {
  readonly rule: CompiledRule
  readonly context: StatementContext
  readonly evaluation: EvaluationContext
}

const noInputs: Inputs = { variables: new Map(), nested: [] }

export function activateRule(rule: CompiledRule, context: StatementContext): ActiveRule {
  return { rule, context, evaluation: newEvaluationContext(rule.slots, rule.constants, noInputs, context) }
}

/** Throws `needsFetch`. */
export function matches({ rule, evaluation }: ActiveRule, view: ObjectView): boolean {
  evaluation.slots[rule.slot] = view
  try {
    return rule.evaluate(evaluation) === true
  } catch (error) {
    // A rule that fails does not match, and its error is not revealed.
    if (error instanceof ValueError || (error instanceof AshlarError && error.type === 'QueryError')) return false
    throw error
  }
}
