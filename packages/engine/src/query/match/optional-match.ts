/** OPTIONAL MATCH: extends each row by each match found for it, and keeps rows without a match. */
import type { BoundPattern } from '../bind/bind-match.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { addCounts, type ExplainNode, rowOperatorPlan } from '../explain/explain-node.ts'
import { inputsOf, type MatchFlow, type MatchOperator, type MatchPipeline } from './match-operator.ts'
import type { MatchBatches, MatchRow } from './match-row.ts'
import { withVertex } from './path-modes.ts'

export interface OptionalStep {
  /** Its search, which begins with rows of what stands before it. */
  readonly operators: readonly MatchOperator[]
  /** All of the MATCH by their numbers, those of other parts without vertices. */
  readonly patterns: readonly BoundPattern[]
  /** The vertices that it goes on from: without an object there, nothing is found. */
  readonly known: readonly { readonly position: number; readonly slot: number }[]
  readonly ordinalSlot: number
  /** What is found comes in the order of the rows for which it is. */
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

/** One run of the search, whose rows are given later. */
interface Search {
  begin: readonly MatchRow[]
  readonly pipeline: MatchPipeline
}

function search({ operators }: OptionalStep, flow: MatchFlow): Search {
  const given: { begin: readonly MatchRow[] } = { begin: [] }
  async function* once(): AsyncGenerator<readonly MatchRow[]> {
    yield given.begin
  }
  let pipeline: MatchPipeline = { rows: once(), operator: undefined }
  for (const operator of operators) pipeline = operator.run(pipeline, flow)
  return Object.assign(given, { pipeline })
}

/** A batch at a time. Rows for which nothing is found stand among the others, as they came, where the search keeps the order of rows. */
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
    const beginning = rows.flatMap((row) => beginningOf(step, row) ?? [])
    const run = next ?? search(step, flow)
    next = undefined
    run.begin = beginning
    const isFound = new Uint8Array(rows.length)
    let told = 0
    if (beginning.length > 0) {
      for await (const found of run.pipeline.rows) {
        const out: MatchRow[] = []
        for (const row of found) {
          const ordinal = row.slots[ordinalSlot] as number
          for (; keepsOrder && told < ordinal; told++) if (isFound[told] === 0) out.push(rows[told] as MatchRow)
          isFound[ordinal] = 1
          out.push(row)
        }
        operator.returned += out.length
        yield out
      }
      if (run !== first && run.pipeline.operator !== undefined && first.pipeline.operator !== undefined)
        addCounts(first.pipeline.operator, run.pipeline.operator)
    }
    const rest = rows.slice(told).filter((_row, i) => isFound[told + i] === 0)
    operator.returned += rest.length
    if (rest.length > 0) yield rest
  }
}

/** With the known vertices as those of its patterns. Undefined where one has no object, or a pattern may not meet one twice. */
function beginningOf({ known, patterns }: OptionalStep, row: MatchRow): MatchRow | undefined {
  let begun: MatchRow | undefined = row
  for (const { position, slot } of known) {
    const view = row.slots[slot] as ObjectView | undefined
    if (view === undefined || begun === undefined) return undefined
    begun = withVertex(patterns, begun, position, slot, view)
  }
  return begun
}
