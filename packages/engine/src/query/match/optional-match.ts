/** OPTIONAL MATCH: extends each row by each match found for it, and keeps rows without a match. */
import type { BoundPattern } from '../bind/bind-match.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { addCounts, type ExplainNode, rowOperatorPlan } from '../explain/explain-node.ts'
import { inputsOf, type MatchFlow, type MatchOperator, type MatchPipeline } from './match-operator.ts'
import type { MatchBatches, MatchRow } from './match-row.ts'
import { withVertex } from './path-modes.ts'

export interface OptionalStep {
  /** The operators of its search, which starts with the input rows. */
  readonly operators: readonly MatchOperator[]
  /** All patterns of the MATCH by number; patterns of other parts have no vertices here. */
  readonly patterns: readonly BoundPattern[]
  /** The vertices bound before it; without an object at one of them, nothing matches. */
  readonly boundVertices: readonly { readonly position: number; readonly slot: number }[]
  readonly ordinalSlot: number
  /** Whether matches keep the order of the input rows. */
  readonly keepsOrder: boolean
}

export function optionalMatch(step: OptionalStep): MatchOperator {
  return {
    run(input, flow) {
      const first = search(step, flow)
      const operator = rowOperatorPlan('optional', {}, inputsOf(input.operator, first.pipeline.operator))
      const rows = matched(step, input.rows, first, operator, flow)
      return { rows: flow.context.measured(rows, operator), operator }
    },
  }
}

/** One run of the search, whose input rows are set before it is read. */
interface Search {
  begin: readonly MatchRow[]
  readonly pipeline: MatchPipeline
}

function search({ operators }: OptionalStep, flow: MatchFlow): Search {
  const input: { begin: readonly MatchRow[] } = { begin: [] }
  async function* once(): AsyncGenerator<readonly MatchRow[]> {
    yield input.begin
  }
  let pipeline: MatchPipeline = { rows: once(), operator: undefined }
  for (const operator of operators) pipeline = operator.run(pipeline, flow)
  return Object.assign(input, { pipeline })
}

/** Matches one batch at a time. Rows without a match keep their position if the search preserves the order. */
async function* matched(
  step: OptionalStep,
  input: MatchBatches,
  first: Search,
  operator: ExplainNode,
  flow: MatchFlow,
): AsyncGenerator<readonly MatchRow[]> {
  const { ordinalSlot, keepsOrder } = step
  let next: Search | undefined = first
  for await (const batch of input) {
    const rows = batch.map((row, i) => ({ ...row, slots: row.slots.with(ordinalSlot, i) }))
    const starts = rows.flatMap((row) => startOf(step, row) ?? [])
    const run = next ?? search(step, flow)
    next = undefined
    run.begin = starts
    const isFound = new Uint8Array(rows.length)
    let emitted = 0
    if (starts.length > 0) {
      for await (const found of run.pipeline.rows) {
        const out: MatchRow[] = []
        for (const row of found) {
          const ordinal = row.slots[ordinalSlot] as number
          for (; keepsOrder && emitted < ordinal; emitted++)
            if (isFound[emitted] === 0) out.push(rows[emitted] as MatchRow)
          isFound[ordinal] = 1
          out.push(row)
        }
        operator.returned += out.length
        yield out
      }
      if (run !== first && run.pipeline.operator !== undefined && first.pipeline.operator !== undefined)
        addCounts(first.pipeline.operator, run.pipeline.operator)
    }
    const rest = rows.slice(emitted).filter((_row, i) => isFound[emitted + i] === 0)
    operator.returned += rest.length
    if (rest.length > 0) yield rest
  }
}

/** Enters the bound vertices in the patterns. Undefined if one has no object, or a pattern must not visit one twice. */
function startOf({ boundVertices, patterns }: OptionalStep, row: MatchRow): MatchRow | undefined {
  let start: MatchRow | undefined = row
  for (const { position, slot } of boundVertices) {
    const view = row.slots[slot] as ObjectView | undefined
    if (view === undefined || start === undefined) return undefined
    start = withVertex(patterns, start, position, slot, view)
  }
  return start
}
