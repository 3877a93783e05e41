/** OIDs that do not depend on rows: `$$ID = …`, `$$ID IN …`, or a source of references, which may be streamed rows of statements. */
import { mapAwaitable } from '../../store/awaitable.ts'
import type { Awaitable } from '../../store/store.ts'
import { noOid, type Oid } from '../../types/oid.ts'
import { type EvaluationContext, unknownValue } from '../evaluate/evaluation-context.ts'
import { evaluateConstant } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import { type NestedRowPlans, statementsOfRows } from '../operators/row-statements.ts'
import { constantKey, type KeyValue, type OidAccess, type PlanAccess } from './access-path.ts'
import { OidList, type OidSource } from './oid-source.ts'
import { directConditions } from './sargable-predicates.ts'

export const planOidLookups: PlanAccess = ({ conditions, planning }) => {
  return directConditions(conditions).flatMap((condition) => {
    if (condition.path.key.length > 0) return []
    if (condition.kind === 'equal') return [new OidLookup(constantKey(condition.value, planning), undefined, true)]
    return condition.kind === 'anyOf' ? [new OidLookup(constantKey(condition.values, planning))] : []
  })
}

export class OidLookup implements OidAccess {
  readonly rank = 100
  readonly isAtMostOne: boolean
  readonly conjunctsAnswered = 1
  readonly mayRepeat = false
  readonly entries = undefined
  private readonly references: KeyValue
  private readonly statements: NestedRowPlans | undefined

  /** `statements`: the statements that produce the references, if they are streamed. */
  constructor(references: KeyValue, statements?: NestedRowPlans, isAtMostOne = false) {
    this.references = references
    this.isAtMostOne = isAtMostOne
    this.statements = statements
  }

  /** Its OIDs may come from running statements; the consumer closes their context. */
  get takesStatements(): boolean {
    return this.statements !== undefined && this.statements.indexes.length > 0
  }

  describe(className: string): ExplainNode {
    return explainNode('oidLookup', { class: className, oids: this.references.text })
  }

  /** Throws `unknownValue`. */
  async estimate(evaluation: EvaluationContext, context: StatementContext): Promise<number> {
    if (this.rowsOf(evaluation, context) !== undefined) return rowsExpected
    const value = await evaluateConstant(this.references.evaluate, evaluation, context)
    return Array.isArray(value) ? value.length : 1
  }

  /** Whether the OIDs include the null reference `0-0-0-0`. */
  async includesNull(evaluation: EvaluationContext, context: StatementContext): Promise<boolean> {
    const value = await evaluateConstant(this.references.evaluate, evaluation, context)
    return Array.isArray(value) ? value.includes(noOid) : value === noOid
  }

  async *oids(evaluation: EvaluationContext, context: StatementContext, plan: ExplainNode): AsyncGenerator<Oid[]> {
    const rows = this.rowsOf(evaluation, context)
    if (rows !== undefined) {
      for await (const batch of rows(plan)) {
        const oids = batch.filter(isObject)
        plan.examined += oids.length
        if (oids.length > 0) yield oids
      }
      return
    }
    const unique = uniqueOids(await evaluateConstant(this.references.evaluate, evaluation, context))
    plan.examined += unique.length
    if (unique.length > 0) yield unique
  }

  isDeferred(evaluation: EvaluationContext, context: StatementContext): boolean {
    try {
      return this.rowsOf(evaluation, context) !== undefined
    } catch (error) {
      // EXPLAIN does not run the statements.
      if (error !== unknownValue) throw error
      return true
    }
  }

  source(
    evaluation: EvaluationContext,
    context: StatementContext,
    plan: ExplainNode | undefined,
  ): Awaitable<OidSource> | undefined {
    if (this.isDeferred(evaluation, context)) return undefined
    const value = evaluateConstant(this.references.evaluate, evaluation, context)
    return mapAwaitable(value, (references) => {
      const unique = uniqueOids(references)
      if (plan !== undefined) plan.examined += unique.length
      return new OidList(unique)
    })
  }

  private rowsOf(evaluation: EvaluationContext, context: StatementContext): ReturnType<typeof statementsOfRows> {
    return statementsOfRows(this.statements, evaluation, context)
  }
}

/** The number of rows of statements is not known before they are consumed. */
const rowsExpected = 1_000

function isObject(oid: unknown): oid is Oid {
  return oid !== null && oid !== noOid
}

function uniqueOids(value: unknown): Oid[] {
  const oids = (Array.isArray(value) ? value : [value]).filter(isObject)
  return oids.length < 2 ? oids : [...new Set(oids)]
}
