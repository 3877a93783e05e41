/** Selects the requested paths of a pattern for each pair of ends (docs/query-language.md, Shortest paths). */
import { type BoundPattern, innerVertices } from '../bind/bind-match.ts'
import { rowOperatorPlan } from '../explain/explain-node.ts'
import { selectionText } from './expansion.ts'
import { inputsOf, type MatchFlow, type MatchOperator } from './match-operator.ts'
import { type MatchBatches, type MatchRow, matchRowKind } from './match-row.ts'
import { edgeKey, isAllowed, isDecidedAtEnd } from './path-modes.ts'
import { type PredicatePlan, predicateTexts, qualifiedRows } from './predicates.ts'
import type { VertexPlan } from './vertices.ts'

export interface SelectionStep {
  readonly pattern: BoundPattern
  readonly patternNumber: number
  readonly vertices: readonly VertexPlan[]
  /** Conditions on the selected paths. */
  readonly predicates: readonly PredicatePlan[]
}

export function selectPaths(step: SelectionStep): MatchOperator {
  return {
    run(input, flow) {
      const { pattern, predicates } = step
      const paths = pattern.selection && selectionText(pattern.selection)
      const details = { paths, mode: pattern.mode, ...predicateTexts(predicates) }
      const operator = rowOperatorPlan('selectPaths', details, inputsOf(input.operator))
      return qualifiedRows(chosenRows(step, input.rows, flow), predicates, operator, flow)
    },
  }
}

interface Candidate {
  readonly row: MatchRow
  readonly length: number
}

const rowsPerBatch = 256

/** Yields the rows by length, then in the order in which they were found. */
async function* chosenRows(step: SelectionStep, input: MatchBatches, flow: MatchFlow): AsyncGenerator<MatchRow[]> {
  const { context } = flow
  const { pattern, patternNumber, vertices } = step
  const slots = vertices.map(({ slot }) => slot)
  const groups = new Map<string, Candidate[]>()
  for await (const batch of input) {
    for (const row of batch) {
      if (isDecidedAtEnd(pattern) && !isAllowed(pattern, patternNumber, slots, row)) continue
      const key = groupOf(step, row)
      const candidates = groups.get(key) ?? []
      if (candidates.length === 0) groups.set(key, candidates)
      const before = candidates.length
      enter(candidates, { row, length: lengthOf(step, row) }, pattern)
      if (candidates.length > before) context.hold(1, matchRowKind.bytesOf(row) + key.length)
    }
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
  let rows: MatchRow[] = []
  for (const candidates of groups.values()) {
    for (const { row } of candidates) rows.push(row)
    if (rows.length < rowsPerBatch) continue
    yield rows
    rows = []
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
  if (rows.length > 0) yield rows
}

/** Inserts by length and drops candidates that are no longer selected. */
function enter(candidates: Candidate[], candidate: Candidate, { selection }: BoundPattern): void {
  const isAll = selection?.kind === 'allShortest'
  const most = isAll ? Number.POSITIVE_INFINITY : selection?.kind === 'shortest' ? selection.count : 1
  const { length } = candidate
  const last = candidates.at(-1)
  if (isAll && last !== undefined && length > last.length) return
  if (isAll && last !== undefined && length < last.length) candidates.length = 0
  if (candidates.length >= most && last !== undefined && length >= last.length) return
  const place = candidates.findLastIndex((one) => one.length <= length) + 1
  candidates.splice(place, 0, candidate)
  if (candidates.length > most) candidates.pop()
}

function lengthOf({ patternNumber }: SelectionStep, { edges }: MatchRow): number {
  let length = 0
  for (const walk of edges[patternNumber] ?? []) length += walk?.length ?? 0
  return length
}

/** The group key: everything but the inner vertices and the edges of the pattern. */
function groupOf({ pattern, patternNumber, vertices }: SelectionStep, { slots, edges }: MatchRow): string {
  const inner = new Set(innerVertices(pattern))
  const oids = vertices.map(({ slot }, position) => {
    return inner.has(position) ? undefined : (slots[slot] as { readonly oid: string } | undefined)?.oid
  })
  const others = edges.map((walks, i) => (i === patternNumber ? 0 : walks.map((walk) => walk?.map(edgeKey))))
  return JSON.stringify([oids, others])
}
