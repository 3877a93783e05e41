/**
 * The shortest paths along one edge pattern, from a bound vertex to each reachable one, or to a given one. The search
 * is breadth first, so each object is visited at one length only.
 */

import type { BoundPattern } from '../bind/bind-match.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { BreadthFirst, type Reached } from './breadth-first.ts'
import { isSplit } from './edge-ends.ts'
import {
  arrive,
  arriveWithoutEdges,
  type EdgeStep,
  type Expansion,
  expansionOf,
  mayBeEnd,
  stepsOf,
} from './expansion.ts'
import type { MatchFlow, MatchOperator } from './match-operator.ts'
import type { MatchBatches, MatchRow } from './match-row.ts'
import { type PredicatePlan, qualified } from './predicates.ts'
import { prefetchOf } from './prefetch-edges.ts'
import type { Reach } from './reach.ts'
import { isOfReached, ReachableObjects } from './reachable-objects.ts'
import { boundDetails, isBounded, Reaches } from './reaches.ts'
import { isFromBothEnds, ShortestBetween } from './shortest-between.ts'
import { walksTo } from './walks-to.ts'

/**
 * Whether the shortest paths of the pattern can be found so: it is one edge pattern, of whose walk nothing is asked, and each beginning of a shortest path
 * is one itself.
 */
export function isBreadthFirst(
  { slot, selection, mode, edges }: BoundPattern,
  predicates: Iterable<PredicatePlan>,
): boolean {
  const [edge, another] = edges
  if (selection === undefined || selection.kind === 'shortest' || edge === undefined || another !== undefined)
    return false
  if (edge.min > 1 || edge.edgeObject !== undefined || isSplit(edge)) return false
  // Back over the edge by which it came, it would be a shortest walk to where it began.
  if (mode === 'trail' && edge.direction === 'either') return false
  for (const { isOfPattern, needs } of predicates)
    if (isOfPattern && (needs.has(edge.slot) || needs.has(slot))) return false
  return true
}

export function shortestPaths(step: EdgeStep): MatchOperator {
  return {
    run(input, flow) {
      const details = isFromBothEnds(step) ? { isBidirectional: true } : boundDetails(step)
      const expansion = expansionOf(step, 'shortestPaths', input, flow, details)
      const { operator } = expansion
      return { rows: flow.context.measured(found(expansion, input.rows, flow), operator), operator }
    },
  }
}

async function* found(expansion: Expansion, input: MatchBatches, flow: MatchFlow): AsyncGenerator<readonly MatchRow[]> {
  const { predicates, operator } = expansion
  if (isOfReached(expansion)) {
    yield* reached(expansion, input, flow)
    return
  }
  const between = isFromBothEnds(expansion) ? new ShortestBetween(expansion, flow) : undefined
  const reaches = between === undefined && isBounded(expansion) ? new Reaches(expansion, flow) : undefined
  try {
    for await (const batch of input) {
      for (const row of batch) {
        for await (const rows of rowsFrom(expansion, row, between, await reaches?.of(row))) {
          const kept = await qualified(predicates, rows, flow)
          operator.returned += kept.length
          if (kept.length > 0) yield kept
        }
      }
    }
  } finally {
    await reaches?.close()
  }
}

async function* reached(
  expansion: Expansion,
  input: MatchBatches,
  flow: MatchFlow,
): AsyncGenerator<readonly MatchRow[]> {
  const { predicates, operator, from } = expansion
  for await (const batch of input) {
    for (const row of batch) {
      const search = new ReachableObjects(expansion)
      try {
        for await (const views of search.from(row.slots[from.slot] as ObjectView)) {
          const rows = views.flatMap((view) => arriveWithoutEdges(expansion, row, view) ?? [])
          const kept = await qualified(predicates, rows, flow)
          operator.returned += kept.length
          if (kept.length > 0) yield kept
        }
      } finally {
        search.release()
      }
    }
  }
}

const rowsAtOnce = 256

async function* rowsFrom(
  expansion: Expansion,
  row: MatchRow,
  between: ShortestBetween | undefined,
  reach: Reach | undefined,
): AsyncGenerator<MatchRow[]> {
  const { edge, from, to, isToBound } = expansion
  const start = row.slots[from.slot] as ObjectView
  if (edge.min === 0) {
    const rows = arrive(expansion, row, new Set(row.visited[expansion.patternNumber]), [], start)
    if (rows !== undefined) yield rows
    if (rows !== undefined && isToBound) return
  }
  const end = row.slots[to.slot] as ObjectView | undefined
  // The shortest way back to where it begins is one of the other search.
  if (between === undefined || end === undefined || end.oid === start.oid) yield* rowsOfOneSide(expansion, row, reach)
  else yield* rowsBetween(expansion, row, between, end)
}

async function* rowsBetween(
  expansion: Expansion,
  row: MatchRow,
  between: ShortestBetween,
  end: ObjectView,
): AsyncGenerator<MatchRow[]> {
  const { context, from, patternNumber } = expansion
  const been = new Set(row.visited[patternNumber])
  let rows: MatchRow[] = []
  for await (const walk of between.walks(row.slots[from.slot] as ObjectView, end)) {
    rows.push(...(arrive(expansion, row, been, walk, end) ?? []))
    if (rows.length < rowsAtOnce) continue
    yield rows
    rows = []
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
  if (rows.length > 0) yield rows
}

async function* rowsOfOneSide(
  expansion: Expansion,
  row: MatchRow,
  reach: Reach | undefined,
): AsyncGenerator<MatchRow[]> {
  const { edge, from, isToBound, context, pattern } = expansion
  const start = row.slots[from.slot] as ObjectView
  const search = new BreadthFirst(start, pattern.selection?.kind !== 'allShortest', context)
  let hasReturned = edge.min === 0
  try {
    while (search.length < edge.max && search.level.length > 0) {
      const follow = (view: ObjectView, length: number) => stepsOf(expansion, view, length, reach)
      const { reached, returned } = await search.next(follow, reach === undefined ? prefetchOf(expansion) : undefined)
      await search.read(reached)
      // The first return to where it began is a path of its own, beyond which nothing new is found.
      const back = hasReturned ? undefined : returned
      hasReturned ||= back !== undefined
      const ends = back === undefined ? search.level : [...search.level, back]
      let isFound = false
      for await (const rows of pathsTo(expansion, row, ends)) {
        isFound = true
        yield rows
      }
      if (isFound && isToBound) return
    }
  } finally {
    search.release()
  }
}

/** The rows of the paths to each of them that may be an end. */
async function* pathsTo(expansion: Expansion, row: MatchRow, ends: readonly Reached[]): AsyncGenerator<MatchRow[]> {
  const { context, patternNumber } = expansion
  const been = new Set(row.visited[patternNumber])
  let rows: MatchRow[] = []
  for (const [i, end] of ends.entries()) {
    const turn = i % rowsAtOnce === 0 ? context.yieldIfDue() : undefined
    if (turn !== undefined) await turn
    // Before its walks are made: most objects on the way are of another class than the end.
    if (!mayBeEnd(expansion, row, end.oid, end.view as ObjectView)) continue
    for (const walk of walksTo(end)) {
      const arrived = arrive(expansion, row, been, walk, end.view as ObjectView)
      // No other path to it does then.
      if (arrived === undefined) break
      rows.push(...arrived)
      if (rows.length < rowsAtOnce) continue
      yield rows
      rows = []
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }
  if (rows.length > 0) yield rows
}
