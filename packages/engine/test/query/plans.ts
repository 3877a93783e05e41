/** Looks into a plan that EXPLAIN ANALYZE replies: what was carried out, and what it has touched. */
import type { ShownPlan } from './query-database.ts'

/** The first of its operators of that kind, itself included. */
export function find(plan: ShownPlan, operator: string): ShownPlan {
  const found = [plan].concat(all(plan)).find((each) => each.operator === operator)
  if (found === undefined) throw new Error(`no ${operator} in ${JSON.stringify(plan, null, 1)}`)
  return found
}

function all(plan: ShownPlan): ShownPlan[] {
  return (plan.inputs ?? []).flatMap((input) => [input, ...all(input)])
}

/** What the plan reads of the data: index entries, and objects. */
export function touched(plan: ShownPlan): number {
  return Math.max(...[plan, ...all(plan)].map(({ examined }) => examined))
}
