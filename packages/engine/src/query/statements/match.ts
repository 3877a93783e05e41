/** MATCH … RETURN: the matches of its patterns as rows, in JSON text or as values. */
import { bindMatch } from '../bind/bind-match.ts'
import type { MatchStatement } from '../language/ast.ts'
import { type MatchPlan, planMatch } from '../match/plan-match.ts'
import type { Planned } from '../plan-cache.ts'
import { typeWithin } from './answer.ts'
import { type Planner, statementOfRows } from './select.ts'
import type { StatementKind } from './statement-kind.ts'

export const match: StatementKind<MatchStatement> = {
  ...statementOfRows(planOf),

  valueType: (statement, binder, walkEdgesMax) => typeWithin(bindMatch(statement, binder, walkEdgesMax), binder),
}

function planOf(statement: MatchStatement, executor: Planner): Planned<MatchPlan> {
  const context = executor.planning()
  return executor.plans.planned(statement, context, (binder) => {
    const bound = bindMatch(statement, binder, context.walkEdgesMax)
    return planMatch(bound, binder.slots, context.formats, context.text)
  })
}
