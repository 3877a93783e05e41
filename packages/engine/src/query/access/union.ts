/** Answers OR by the union of several access paths, one for each predicate. */
import type { Oid } from '../../types/oid.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import { bestOf, type OidAccess, type PlanAccess } from './access-path.ts'
import type { FullPredicate } from './entry-filter.ts'

/** Up to this number of parts, each part filters entries by the whole predicate. */
const checkedPartsMax = 16

export const planUnions: PlanAccess = ({ cls, conditions, planning, predicate, accessesFor }) => {
  const unions: OidAccess[] = []
  for (const condition of conditions) {
    if (condition.kind !== 'or') continue
    const parts: OidAccess[] = []
    const checked = checkedInParts(predicate, condition.parts.length)
    for (const part of condition.parts) {
      const best = bestOf(accessesFor(cls, part, planning, checked))
      // The remaining parts, possibly thousands, need not be planned.
      if (best === undefined) break
      parts.push(best)
    }
    if (parts.length === condition.parts.length) unions.push(new Union(parts))
  }
  return unions
}

/**
 * Each part compiles its own filter, so thousands of parts with thousands of alternatives each would exhaust memory. Beyond the
 * limit, objects are read and checked instead. For the same reason nested parts have no filter.
 */
function checkedInParts(predicate: FullPredicate | undefined, parts: number): FullPredicate | undefined {
  if (predicate === undefined || predicate.isOrPart === true || parts > checkedPartsMax) return undefined
  return { ...predicate, isOrPart: true }
}

class Union implements OidAccess {
  readonly rank: number
  readonly isAtMostOne = false
  /** Unknown: for each part of an OR, the access may answer only some conjuncts. */
  readonly conjunctsAnswered = 0
  readonly mayRepeat = true
  readonly entries: string | undefined
  private readonly parts: readonly OidAccess[]

  constructor(parts: readonly OidAccess[]) {
    this.parts = parts
    const entries = new Set(parts.map((part) => part.entries))
    this.entries = entries.has(undefined) ? undefined : [...entries].join(' or ')
    this.rank = Math.min(...parts.map(({ rank }) => rank)) - 1
  }

  describe(className: string): ExplainNode {
    const inputs = this.parts.map((part) => part.describe(className))
    return explainNode('union', { class: className }, inputs)
  }

  async estimate(evaluation: EvaluationContext, context: StatementContext, max: number): Promise<number> {
    let count = 0
    for (const part of this.parts) {
      count += await part.estimate(evaluation, context, max)
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
    return Math.min(count, max)
  }

  async *oids(evaluation: EvaluationContext, context: StatementContext, plan: ExplainNode): AsyncGenerator<Oid[]> {
    for (const [i, part] of this.parts.entries()) {
      const input = plan.inputs[i] as ExplainNode
      for await (const oids of context.measured(part.oids(evaluation, context, input), input)) {
        input.returned += oids.length
        plan.examined += oids.length
        yield oids
      }
    }
  }
}
