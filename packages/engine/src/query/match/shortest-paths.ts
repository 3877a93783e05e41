/** The shortest paths along one edge pattern from a bound vertex, by a breadth-first search that visits each object at one length only. */
import type { Oid } from '../../types/oid.ts'
import type { BoundPattern } from '../bind/bind-match.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { BackwardSearch } from './backward-search.ts'
import { BidirectionalSearch, backward, isFromBothEnds, searchFrom } from './bidirectional.ts'
import { Reached } from './breadth-first.ts'
import { isSplit } from './edge-ends.ts'
import {
  arrive,
  arriveWithoutEdges,
  type EdgeStep,
  type Expansion,
  expansionOf,
  mayBeEnd,
  type WalkStep,
} from './expansion.ts'
import type { MatchFlow, MatchOperator } from './match-operator.ts'
import type { MatchBatches, MatchRow } from './match-row.ts'
import { boundDetails, isBounded, PathBounds } from './path-bounds.ts'
import { type PredicatePlan, qualifiedRows } from './predicates.ts'
import { isReachability, ReachableObjects } from './reachable-objects.ts'
import { walksThrough, walksTo } from './walks-to.ts'

/** Whether breadth-first search applies: one edge pattern, no conditions on its walk, and each prefix of a shortest path is itself one. */
export function isBreadthFirst(
  { slot, selection, mode, edges }: BoundPattern,
  predicates: Iterable<PredicatePlan>,
): boolean {
  const [edge, another] = edges
  if (selection === undefined || selection.kind === 'shortest' || edge === undefined || another !== undefined)
    return false
  if (edge.min > 1 || edge.edgeObject !== undefined || isSplit(edge)) return false
  // The edge back to the start would make a shortest walk that is not a trail.
  if (mode === 'trail' && edge.direction === 'either') return false
  for (const { isInPattern, needs } of predicates)
    if (isInPattern && (needs.has(edge.slot) || needs.has(slot))) return false
  return true
}

export function shortestPaths(step: EdgeStep): MatchOperator {
  return {
    run(input, flow) {
      const details = isFromBothEnds(step) ? { isBidirectional: true } : boundDetails(step)
      const expansion = expansionOf(step, 'shortestPaths', input, flow, details)
      return qualifiedRows(found(expansion, input.rows, flow), step.predicates, expansion.operator, flow)
    },
  }
}

async function* found(expansion: Expansion, input: MatchBatches, flow: MatchFlow): AsyncGenerator<readonly MatchRow[]> {
  const isOnlyReachability = isReachability(expansion)
  const back = isFromBothEnds(expansion) ? backward(expansion, flow) : undefined
  const bounds = back === undefined && isBounded(expansion) ? new PathBounds(expansion, flow) : undefined
  try {
    for await (const batch of input) {
      for (const row of batch) {
        const paths = isOnlyReachability
          ? reachedRows(expansion, row)
          : rowsFrom(expansion, row, back, await bounds?.of(row))
        yield* paths
      }
    }
  } finally {
    await bounds?.close()
  }
}

/** The rows of the reachable objects, if the paths are unused. */
async function* reachedRows(expansion: Expansion, row: MatchRow): AsyncGenerator<MatchRow[]> {
  const search = new ReachableObjects(expansion)
  try {
    for await (const views of search.from(row.slots[expansion.from.slot] as ObjectView))
      yield views.flatMap((view) => arriveWithoutEdges(expansion, row, view) ?? [])
  } finally {
    search.release()
  }
}

async function* rowsFrom(
  expansion: Expansion,
  row: MatchRow,
  back: Expansion | undefined,
  bound: BackwardSearch | undefined,
): AsyncGenerator<MatchRow[]> {
  const { edge, from, to, isToBound, patternNumber } = expansion
  const start = row.slots[from.slot] as ObjectView
  const end = row.slots[to.slot] as ObjectView | undefined
  const paths: Paths = { expansion, row, visitedOids: new Set(row.visited[patternNumber]) }
  if (edge.min === 0) {
    const rows = arrive(expansion, row, paths.visitedOids, [], start)
    if (rows !== undefined) yield rows
    if (rows !== undefined && isToBound) return
  }
  // A shortest path back to the start has only one end.
  if (back === undefined || end === undefined || end.oid === start.oid) yield* rowsFromStart(paths, start, bound)
  else yield* rowsBetween(paths, new BidirectionalSearch(start, end, expansion, back), end)
}

interface Paths {
  readonly expansion: Expansion
  readonly row: MatchRow
  /** The objects that the pattern has already visited. */
  readonly visitedOids: ReadonlySet<Oid>
}

async function* rowsBetween(paths: Paths, search: BidirectionalSearch, end: ObjectView): AsyncGenerator<MatchRow[]> {
  try {
    const met = await search.meet()
    yield* rowsTo(paths, [new Reached(end.oid, 0, end)], () => walksThrough(met, paths.expansion.edge))
  } finally {
    search.release()
  }
}

async function* rowsFromStart(
  paths: Paths,
  start: ObjectView,
  bound: BackwardSearch | undefined,
): AsyncGenerator<MatchRow[]> {
  const { edge, isToBound } = paths.expansion
  const search = searchFrom(start, paths.expansion, bound)
  try {
    while (search.distance < edge.max && search.frontier.length > 0) {
      await search.expandLevel()
      await search.readLevel()
      const { frontier, returned } = search
      const ends = [...frontier]
      // The first return to the start is a path itself, and nothing new is found beyond it.
      if (edge.min > 0 && returned?.distance === search.distance) {
        returned.view = start
        ends.push(returned)
      }
      let isFound = false
      for await (const rows of rowsTo(paths, ends, walksTo)) {
        isFound = true
        yield rows
      }
      if (isFound && isToBound) return
    }
  } finally {
    search.release()
  }
}

const rowsPerBatch = 256

/** The rows of the walks to each object that may be an end. */
async function* rowsTo(
  { expansion, row, visitedOids }: Paths,
  ends: readonly Reached[],
  walksOf: (end: Reached) => Iterable<WalkStep[]>,
): AsyncGenerator<MatchRow[]> {
  const { context } = expansion
  let rows: MatchRow[] = []
  for (const [i, end] of ends.entries()) {
    const pause = i % rowsPerBatch === 0 ? context.yieldIfDue() : undefined
    if (pause !== undefined) await pause
    const view = end.view as ObjectView
    // Checked before the walks are built, because most objects are of another class than the end.
    if (!mayBeEnd(expansion, row, end.oid, view)) continue
    for (const walk of walksOf(end)) {
      const arrived = arrive(expansion, row, visitedOids, walk, view)
      // Then no other path to the object qualifies either.
      if (arrived === undefined) break
      rows.push(...arrived)
      if (rows.length < rowsPerBatch) continue
      yield rows
      rows = []
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }
  if (rows.length > 0) yield rows
}
