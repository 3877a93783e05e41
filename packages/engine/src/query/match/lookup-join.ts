/** Lookup join: for each row, the matching objects of a source are looked up in an index. */

import { assert } from '../../errors.ts'
import { objectRows } from '../access/object-rows.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { addCounts, type ExplainNode, rowOperatorPlan } from '../explain/explain-node.ts'
import { inputsOf, type MatchFlow, type MatchOperator } from './match-operator.ts'
import { type MatchBatches, type MatchRow, matchRowKind } from './match-row.ts'
import { type PredicatePlan, predicateTexts, qualifiedRows } from './predicates.ts'
import type { LookupPlan } from './source-rows.ts'

const batchRows = 256

interface Lookup {
  readonly slot: number
  readonly plan: LookupPlan
  readonly withObject: WithObject
}

/** Returns the row with an object in the slot, or undefined if it does not qualify. */
export type WithObject = (row: MatchRow, slot: number, view: ObjectView) => MatchRow | undefined

const withAny: WithObject = (row, slot, view) => ({ ...row, slots: row.slots.with(slot, view) })

/** Uses the first access path of the plan. */
export function lookupJoin(
  { slot, name }: { readonly slot: number; readonly name: string | undefined },
  plan: LookupPlan,
  predicates: readonly PredicatePlan[],
  withObject: WithObject = withAny,
): MatchOperator {
  return {
    run(input, flow) {
      const lookup: Lookup = { slot, plan, withObject }
      const first = rowsOf(lookup, flow)
      const operator = rowOperatorPlan(
        'lookupJoin',
        { name: name ?? null, ...predicateTexts(predicates) },
        inputsOf(input.operator, first.operator),
      )
      return qualifiedRows(joined(lookup, input.rows, first.operator, flow), predicates, operator, flow)
    },
  }
}

/** The objects for the current row of the evaluation. */
function rowsOf({ plan: { objects } }: Lookup, { evaluation, context }: MatchFlow): ReturnType<typeof objectRows> {
  const [access] = objects.accesses
  assert(access !== undefined, 'a look-up has an access path')
  const chosen = { access, estimated: access.isAtMostOne ? 1 : undefined }
  return objectRows(objects, chosen, evaluation, context, undefined)
}

async function* joined(
  lookup: Lookup,
  input: MatchBatches,
  node: ExplainNode,
  flow: MatchFlow,
): AsyncGenerator<readonly MatchRow[]> {
  let found: MatchRow[] = []
  for await (const batch of input) {
    for (const row of batch) {
      for await (const views of viewsFor(lookup, row, node, flow)) {
        for (const view of views) {
          const next = lookup.withObject(row, lookup.slot, view)
          if (next !== undefined) found.push(next)
        }
        if (found.length < batchRows) continue
        yield found
        found = []
      }
      if (flow.context.isYieldDue) await flow.context.yieldToEventLoop()
    }
    if (found.length > 0) yield found
    found = []
    const pause = flow.context.yieldIfDue()
    if (pause !== undefined) await pause
  }
}

/** Other operators change the current row of the evaluation between batches, so it is set again before each one. */
async function* viewsFor(
  lookup: Lookup,
  row: MatchRow,
  node: ExplainNode,
  flow: MatchFlow,
): AsyncGenerator<readonly ObjectView[]> {
  const { evaluation } = flow
  const { start, end } = lookup.plan
  for (let place = start; place < end; place++) evaluation.constants[place] = undefined
  const source = rowsOf(lookup, flow)
  try {
    for (;;) {
      matchRowKind.enter(evaluation, row)
      const { done, value } = await source.rows.next()
      if (done === true) break
      yield value
    }
  } finally {
    await source.rows.return(undefined)
    addCounts(node, source.operator)
  }
}
