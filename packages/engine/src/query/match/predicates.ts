/** The predicates of a MATCH: each is evaluated by the first operator after which everything that it needs is bound. */
import { type Bound, conjunctsOf, operandsOf } from '../bind/bound.ts'
import type { Evaluate } from '../evaluate/evaluation-context.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import type { Planning } from '../operators/planning.ts'
import type { MatchFlow, MatchPipeline } from './match-operator.ts'
import { type MatchBatches, type MatchRow, matchRowKind } from './match-row.ts'

export interface PredicatePlan {
  readonly bound: Bound
  /** Slots of vertices, edges and walks. */
  readonly needs: ReadonlySet<number>
  readonly evaluate: Evaluate
  /** As written, for EXPLAIN. */
  readonly text: string
  /** Whether the predicate is part of a pattern instead of WHERE. */
  readonly isInPattern: boolean
}

/** `patternSlots`: the slots of vertices, edges and walks. */
export function planPredicates(
  conditions: readonly Bound[],
  patternSlots: ReadonlySet<number>,
  { compiler, text }: Planning,
  isInPattern = false,
): PredicatePlan[] {
  return conditions.flatMap(conjunctsOf).map((bound) => ({
    bound,
    isInPattern,
    needs: slotsIn(bound, patternSlots),
    evaluate: compiler.compile(bound),
    text: text.slice(bound.start, bound.end),
  }))
}

export function conjunction(predicates: readonly Bound[]): Bound | undefined {
  const [first] = predicates
  if (first === undefined || predicates.length === 1) return first
  const { start } = first
  const { end } = predicates.at(-1) as Bound
  return { kind: 'logical', operator: 'and', operands: predicates, type: first.type, start, end }
}

function slotsIn(bound: Bound, patternSlots: ReadonlySet<number>): Set<number> {
  const slots = new Set<number>()
  const visit = (node: Bound): void => {
    if ('slot' in node && patternSlots.has(node.slot)) slots.add(node.slot)
    for (const part of operandsOf(node)) visit(part)
  }
  visit(bound)
  return slots
}

export function dependsOnlyOn({ needs }: PredicatePlan, slot: number): boolean {
  return needs.size === 1 && needs.has(slot)
}

export function predicateTexts(predicates: readonly PredicatePlan[]): { readonly predicates?: readonly string[] } {
  return predicates.length === 0 ? {} : { predicates: predicates.map(({ text }) => text) }
}

/** Filters the rows by all predicates. */
export function qualifiedRows(
  rows: MatchBatches,
  predicates: readonly PredicatePlan[],
  operator: ExplainNode,
  flow: MatchFlow,
): MatchPipeline {
  async function* qualifiedBatches(): AsyncGenerator<readonly MatchRow[]> {
    for await (const batch of rows) {
      const some = await filterMatchRows(predicates, batch, flow)
      operator.returned += some.length
      if (some.length > 0) yield some
    }
  }
  return { rows: flow.context.measured(qualifiedBatches(), operator), operator }
}

export async function filterMatchRows(
  predicates: readonly PredicatePlan[],
  rows: readonly MatchRow[],
  { evaluation, context }: MatchFlow,
): Promise<readonly MatchRow[]> {
  if (predicates.length === 0 || rows.length === 0) return rows
  const results = await evaluateRows(context, rows, (row) => {
    matchRowKind.enter(evaluation, row)
    return predicates.every(({ evaluate }) => evaluate(evaluation) === true)
  })
  return rows.filter((_row, i) => results[i])
}
