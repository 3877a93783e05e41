/** OIDs that are known before the rows: `$$ID = …`, `$$ID IN …`, or a source of references. */
import { mapAwaitable } from '../../store/awaitable.ts'
import type { Awaitable } from '../../store/store.ts'
import { noOid, type Oid } from '../../types/oid.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import { evaluateConstant } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import { constantKey, type KeyValue, type OidAccess, type PlanAccess } from './access-path.ts'
import { KnownOids, type OidSource } from './oid-source.ts'
import { ownConditions } from './sargable-predicates.ts'

export const planOidLookups: PlanAccess = ({ conditions, planning }) => {
  return ownConditions(conditions).flatMap((condition) => {
    if (condition.path.key.length > 0) return []
    if (condition.kind === 'equal') return [new OidLookup(constantKey(condition.value, planning))]
    return condition.kind === 'anyOf' ? [new OidLookup(constantKey(condition.values, planning))] : []
  })
}

export class OidLookup implements OidAccess {
  readonly rank = 100
  readonly isAtMostOne = false
  readonly conjunctsAnswered = 1
  readonly mayRepeat = false
  readonly entries = undefined
  /** One, or a collection of them. */
  private readonly references: KeyValue

  constructor(references: KeyValue) {
    this.references = references
  }

  describe(className: string): ExplainNode {
    return explainNode('oidLookup', { class: className, oids: this.references.text })
  }

  async estimate(evaluation: EvaluationContext, context: StatementContext): Promise<number> {
    const value = await evaluateConstant(this.references.evaluate, evaluation, context)
    return Array.isArray(value) ? value.length : 1
  }

  /** Whether `0-0-0-0` is among them, which is no object. */
  async namesNothing(evaluation: EvaluationContext, context: StatementContext): Promise<boolean> {
    const value = await evaluateConstant(this.references.evaluate, evaluation, context)
    return Array.isArray(value) ? value.includes(noOid) : value === noOid
  }

  async *oids(evaluation: EvaluationContext, context: StatementContext, plan: ExplainNode): AsyncGenerator<Oid[]> {
    const unique = uniqueOids(await evaluateConstant(this.references.evaluate, evaluation, context))
    plan.examined += unique.length
    if (unique.length > 0) yield unique
  }

  source(evaluation: EvaluationContext, context: StatementContext): Awaitable<OidSource> {
    const value = evaluateConstant(this.references.evaluate, evaluation, context)
    return mapAwaitable(value, (references) => new KnownOids(uniqueOids(references)))
  }
}

function uniqueOids(value: unknown): Oid[] {
  const oids = (Array.isArray(value) ? value : [value]).filter((oid): oid is Oid => oid !== null && oid !== noOid)
  return oids.length < 2 ? oids : [...new Set(oids)]
}
