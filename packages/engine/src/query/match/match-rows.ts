/** Executes MATCH: one empty row passes through the operators of the search, and one row per match comes out. */
import { assert } from '../../errors.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import type { MatchFlow, MatchPipeline } from './match-operator.ts'
import type { MatchBatches, MatchRow } from './match-row.ts'
import type { PatternsPlan } from './patterns-plan.ts'
import { operatorsInOrder } from './search-order.ts'

export async function matchRows(
  plan: PatternsPlan,
  flow: MatchFlow,
): Promise<{ readonly rows: MatchBatches; readonly operator: ExplainNode }> {
  let pipeline: MatchPipeline = { rows: once(emptyRow(plan)), operator: undefined }
  for (const operator of await operatorsInOrder(plan, flow)) pipeline = operator.run(pipeline, flow)
  const { rows, operator } = pipeline
  assert(operator !== undefined, 'a pattern has a vertex')
  return { rows, operator }
}

function emptyRow({ slots, patterns }: PatternsPlan): MatchRow {
  return {
    slots: new Array(slots).fill(undefined),
    visited: patterns.map(() => []),
    edges: patterns.map(({ edges }) => edges.map(() => undefined)),
  }
}

async function* once(row: MatchRow): AsyncGenerator<readonly MatchRow[]> {
  yield [row]
}
