/** Walks operator: once all vertices and edges are bound, checks the modes of the patterns and builds the named paths. */
import type { BoundPattern } from '../bind/bind-match.ts'
import { rowOperatorPlan } from '../explain/explain-node.ts'
import { inputsOf, type MatchOperator } from './match-operator.ts'
import type { MatchRow } from './match-row.ts'
import { isAllowed, isDecidedAtEnd } from './path-modes.ts'
import { type PredicatePlan, predicateTexts, qualifiedRows } from './predicates.ts'
import type { VertexPlan } from './vertices.ts'

export interface WalksStep {
  readonly patterns: readonly (readonly [number, BoundPattern])[]
  readonly vertices: readonly VertexPlan[]
  /** Predicates that need walks. */
  readonly predicates: readonly PredicatePlan[]
}

/** Returns undefined if no mode is left to check and no walk has a name. */
export function walks({ patterns, vertices, predicates }: WalksStep): MatchOperator | undefined {
  const undecided = patterns.filter(([, pattern]) => isDecidedAtEnd(pattern))
  const isNamed = patterns.some(([, { name }]) => name !== undefined)
  if (undecided.length === 0 && !isNamed && predicates.length === 0) return undefined
  const slots = vertices.map(({ slot }) => slot)
  const isValid = (row: MatchRow): boolean => undecided.every(([i, pattern]) => isAllowed(pattern, i, slots, row))
  return {
    run(input, flow) {
      const names = patterns.flatMap(([, { name }]) => name ?? [])
      const modes = new Set(undecided.map(([, { mode }]) => mode))
      const details = {
        ...(isNamed ? { names } : {}),
        ...(modes.size === 0 ? {} : { modes: [...modes] }),
        ...predicateTexts(predicates),
      }
      const operator = rowOperatorPlan('walks', details, inputsOf(input.operator))
      async function* validRows(): AsyncGenerator<readonly MatchRow[]> {
        for await (const batch of input.rows) yield batch.filter(isValid).map((row) => withWalks(row, patterns))
      }
      return qualifiedRows(validRows(), predicates, operator, flow)
    },
  }
}

/** Adds the walk of each named pattern, its edges from left to right. */
function withWalks(row: MatchRow, patterns: WalksStep['patterns']): MatchRow {
  let { slots } = row
  for (const [i, { slot, name }] of patterns) {
    if (name !== undefined)
      slots = slots.with(
        slot,
        (row.edges[i] ?? []).flatMap((edges) => edges ?? []),
      )
  }
  return { ...row, slots }
}
