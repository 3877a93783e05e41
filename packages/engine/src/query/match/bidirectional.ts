/**
 * Bidirectional search for the shortest paths along one edge pattern between two objects: breadth first from both of them, a level at a time from the
 * side with fewer edges ahead, until the frontiers meet.
 */
import { farSideEdgesMax } from '../../limits.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { BackwardSearch } from './backward-search.ts'
import { BreadthFirst, type Reached, type Visitor } from './breadth-first.ts'
import { isFoundFromFarEnd, turned } from './edge-ends.ts'
import { type EdgeStep, type Expansion, stepsOf } from './expansion.ts'
import { IncidentEdges } from './incident-edges.ts'
import type { MatchFlow } from './match-operator.ts'

/** Of a frontier with more objects, edges are not counted: their number tells enough. */
const comparedObjectsMax = 256
/** Edges are counted up to bounds that grow by steps. */
const fewEdges = 64
const edgesStep = 4

interface Side {
  readonly search: BreadthFirst
  readonly edges: IncidentEdges
}

/** A search for the shortest paths of the pattern from one object on. `bound`: the search back from their ends. */
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

/** Whether both ends are known, and the edges are found from either. */
export function isFromBothEnds(step: EdgeStep): boolean {
  return step.isToBound && step.edge.max > 1 && isFoundFromFarEnd(step)
}

/** The same pattern, followed from its other end. */
export function backward(expansion: Expansion, flow: MatchFlow): Expansion {
  return { ...expansion, edges: new IncidentEdges(turned(expansion, expansion.from), flow) }
}

/** Between two objects that are not the same. */
export class BidirectionalSearch {
  private readonly expansion: Expansion
  private readonly near: Side
  private readonly far: Side

  /** `back`: the pattern from its other end. */
  constructor(start: ObjectView, end: ObjectView, expansion: Expansion, back: Expansion) {
    this.expansion = expansion
    this.near = { search: searchFrom(start, expansion), edges: expansion.edges }
    this.far = { search: searchFrom(end, back), edges: back.edges }
  }

  /** The objects at which the frontiers meet, as the near and the far side have reached them: one where one path is enough. */
  async meet(): Promise<readonly [Reached, Reached][]> {
    const [near, far] = [this.near.search, this.far.search]
    const { edge, pattern } = this.expansion
    while (near.distance + far.distance < edge.max) {
      const search = (await this.isNearNext()) ? near : far
      await search.expandLevel()
      const met = meetings(near, far, search)
      if (met.length > 0) return pattern.selection?.kind === 'allShortest' ? met : met.slice(0, 1)
      await search.readLevel()
      if (search.frontier.length === 0) return []
    }
    return []
  }

  /** When what has met is no longer needed. */
  release(): void {
    this.near.search.release()
    this.far.search.release()
  }

  /** Whether the near side is expanded next. */
  private async isNearNext(): Promise<boolean> {
    const { near, far } = this
    const [nearObjects, farObjects] = [near.search.frontier.length, far.search.frontier.length]
    const isNear = nearObjects <= farObjects
    // Where to count them is a trip for each object, too.
    if (this.expansion.context.isRemote || Math.max(nearObjects, farObjects) > comparedObjectsMax) return isNear
    const [fewer, more] = isNear ? [near, far] : [far, near]
    for (let max = fewEdges; max <= farSideEdgesMax; max *= edgesStep) {
      const edges = await this.edgesAhead(fewer, max)
      const others = await this.edgesAhead(more, edges)
      if (others < edges) return !isNear
      if (edges < max) return isNear
    }
    return isNear
  }

  /** How many edges there are at the objects of the frontier, counted up to `max`. */
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

/** What the side that was expanded has reached of the frontier of the other one, seen from the near one: neither has reached anything of the other before. */
function meetings(near: BreadthFirst, far: BreadthFirst, expanded: BreadthFirst): [Reached, Reached][] {
  const other = expanded === near ? far : near
  return expanded.reached.flatMap((one): [Reached, Reached][] => {
    const there = other.visited.get(one.oid)
    // What does not exist was reached, but not read.
    if (there?.format === undefined) return []
    one.format = there.format
    return [expanded === near ? [one, there] : [there, one]]
  })
}
