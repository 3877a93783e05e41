/** Executes MATCH: one empty row passes through the operators of the search, which yield one row per match. */
import { assert } from '../../errors.ts'
import type { PushRows } from '../execute/pushed-rows.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import type { MatchFlow, MatchPipeline } from './match-operator.ts'
import type { MatchBatches, MatchRow } from './match-row.ts'
import { pathsInPlace } from './paths-in-place.ts'
import type { PatternsPlan } from './patterns-plan.ts'
import { operatorsInOrder } from './search-order.ts'

export interface MatchRows {
  readonly rows: MatchBatches
  /** Pushes the same rows one by one, if possible; consume either these or `rows`. */
  readonly push: PushRows<MatchRow> | undefined
  readonly operator: ExplainNode
}

export async function matchRows(plan: PatternsPlan, flow: MatchFlow): Promise<MatchRows> {
  let pipeline: MatchPipeline = { rows: once(emptyRow(plan)), operator: undefined }
  const operators = await operatorsInOrder(plan, flow)
  const nodes: ExplainNode[] = []
  for (const one of operators) {
    pipeline = one.run(pipeline, flow)
    if (pipeline.operator !== undefined) nodes.push(pipeline.operator)
  }
  const { rows, operator } = pipeline
  assert(operator !== undefined, 'a pattern has a vertex')
  const inPlace = pathsInPlace(operators, nodes, plan.slots, flow)
  return { rows: inPlace?.batches() ?? rows, push: inPlace?.push, operator }
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
