/** Bidirectional search for shortest paths along one edge pattern between two objects, expanding the side with fewer edges ahead. */
import { backwardEdgesMax } from '../../limits.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { BackwardSearch } from './backward-search.ts'
import { BreadthFirst, type Reached, type Visitor } from './breadth-first.ts'
import { isFoundFromFarEnd, reversed } from './edge-ends.ts'
import { type EdgeStep, type Expansion, stepsOf } from './expansion.ts'
import { IncidentEdges } from './incident-edges.ts'
import type { MatchFlow } from './match-operator.ts'

/** Beyond this many objects, the sizes of the frontiers are compared without counting edges. */
const comparedObjectsMax = 256
/** The bounds for counting edges start at `fewEdges` and grow by the factor `edgesStep`. */
const fewEdges = 64
const edgesStep = 4

interface Side {
  readonly search: BreadthFirst
  readonly edges: IncidentEdges
}

/** Starts a search for the shortest paths from an object. `bound` is the search back from their ends. */
export function searchFrom(start: ObjectView, expansion: Expansion, bound?: BackwardSearch): BreadthFirst {
  const { context, edges, pattern } = expansion
  const { reader } = context
  const visitor: Visitor = {
    keeps: pattern.selection?.kind === 'allShortest' ? 'shortest' : 'first',
    follow: (view, distance) => stepsOf(expansion, view, distance, bound),
    async objects(oids) {
      const views = await evaluateRows(context, oids, (oid) => reader.objectOnce(oid))
      return views.filter(({ format }) => format !== undefined)
    },
    ...(context.isRemote && bound === undefined
      ? { prefetch: (views, distance): Promise<void> => edges.prefetch(views, distance) }
      : {}),
  }
  const search = new BreadthFirst(visitor, context)
  search.frontier = [search.begin(start.oid, start)]
  return search
}

/** Whether both ends are bound and the edges can be found from either end. */
export function isFromBothEnds(step: EdgeStep): boolean {
  return step.isToBound && step.edge.max > 1 && isFoundFromFarEnd(step)
}

export function backward(expansion: Expansion, flow: MatchFlow): Expansion {
  return { ...expansion, edges: new IncidentEdges(reversed(expansion, expansion.from), flow) }
}

/** The two objects must differ. */
export class BidirectionalSearch {
  private readonly expansion: Expansion
  private readonly fromStart: Side
  private readonly fromEnd: Side

  constructor(start: ObjectView, end: ObjectView, expansion: Expansion, back: Expansion) {
    this.expansion = expansion
    this.fromStart = { search: searchFrom(start, expansion), edges: expansion.edges }
    this.fromEnd = { search: searchFrom(end, back), edges: back.edges }
  }

  /** Returns the pairs in which the frontiers meet, the side of the start first; only one pair if one path is enough. */
  async meet(): Promise<readonly [Reached, Reached][]> {
    const [fromStart, fromEnd] = [this.fromStart.search, this.fromEnd.search]
    const { edge, pattern } = this.expansion
    while (fromStart.distance + fromEnd.distance < edge.max) {
      const search = (await this.isStartNext()) ? fromStart : fromEnd
      await search.expandLevel()
      const met = meetings(fromStart, fromEnd, search)
      if (met.length > 0) return pattern.selection?.kind === 'allShortest' ? met : met.slice(0, 1)
      await search.readLevel()
      if (search.frontier.length === 0) return []
    }
    return []
  }

  release(): void {
    this.fromStart.search.release()
    this.fromEnd.search.release()
  }

  private async isStartNext(): Promise<boolean> {
    const { fromStart, fromEnd } = this
    const [startObjects, endObjects] = [fromStart.search.frontier.length, fromEnd.search.frontier.length]
    const isStartSmaller = startObjects <= endObjects
    // On a remote store, each count is a round trip.
    if (this.expansion.context.isRemote || Math.max(startObjects, endObjects) > comparedObjectsMax)
      return isStartSmaller
    const [fewer, more] = isStartSmaller ? [fromStart, fromEnd] : [fromEnd, fromStart]
    for (let max = fewEdges; max <= backwardEdgesMax; max *= edgesStep) {
      const edges = await this.edgesAhead(fewer, max)
      const others = await this.edgesAhead(more, edges)
      if (others < edges) return !isStartSmaller
      if (edges < max) return isStartSmaller
    }
    return isStartSmaller
  }

  /** The number of edges at the objects of the frontier, counted up to `max`. */
  private async edgesAhead({ search, edges }: Side, max: number): Promise<number> {
    const { context } = this.expansion
    let count = 0
    for (const { view } of search.frontier) {
      if (count >= max) return max
      count += await edges.count(view as ObjectView, max - count)
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
    return Math.min(count, max)
  }
}

/** Objects of the other frontier that the expanded side has reached; the two sides shared none before. */
function meetings(fromStart: BreadthFirst, fromEnd: BreadthFirst, expanded: BreadthFirst): [Reached, Reached][] {
  const other = expanded === fromStart ? fromEnd : fromStart
  return expanded.reached.flatMap((one): [Reached, Reached][] => {
    const there = other.visited.get(one.oid)
    // An object that does not exist has been reached but never read.
    if (there?.format === undefined) return []
    one.format = there.format
    return [expanded === fromStart ? [one, there] : [there, one]]
  })
}
