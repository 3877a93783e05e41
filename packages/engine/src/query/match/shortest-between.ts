/**
 * The shortest paths along one edge pattern between two objects: breadth first from both of them, a level at a time from
 * the side with fewer edges ahead, until the sides meet.
 */
import { farSideEdgesMax } from '../../limits.ts'
import type { BoundEdge } from '../bind/bind-match.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { BreadthFirst, type Follow, type Prefetch, type Reached } from './breadth-first.ts'
import { type EdgeCounter, edgesAt, isFoundFromFarEnd, seenFrom, turned } from './edge-ends.ts'
import { type EdgeStep, type Expansion, stepsOf, type Taken } from './expansion.ts'
import type { MatchFlow } from './match-operator.ts'
import type { Step } from './neighbours.ts'
import { prefetchBack, prefetchOf } from './prefetch-edges.ts'
import { type WayBack, wayBackOf } from './reach.ts'
import { type RestOfWalk, walksTo } from './walks-to.ts'

/** Of a level with more objects, edges are not counted: their number tells enough. */
const comparedObjectsMax = 256
/** Edges are counted up to bounds that grow by steps. */
const fewEdges = 64
const edgesStep = 4

interface Side {
  readonly search: BreadthFirst
  readonly follow: Follow
  readonly counter: EdgeCounter
  readonly prefetch: Prefetch | undefined
}

/** An object at which the sides meet, as each has reached it. */
interface Meeting {
  readonly near: Reached
  readonly far: Reached
}

/** Whether both ends are known, and the edges are found from either. */
export function isFromBothEnds(step: EdgeStep): boolean {
  return step.isToBound && step.edge.max > 1 && isFoundFromFarEnd(step)
}

/** Of one run. */
export class ShortestBetween {
  private readonly expansion: Expansion
  private readonly wayBack: WayBack
  private readonly isOne: boolean

  constructor(expansion: Expansion, flow: MatchFlow) {
    this.expansion = expansion
    this.wayBack = wayBackOf(turned(expansion, expansion.from), flow)
    this.isOne = expansion.pattern.selection?.kind !== 'allShortest'
  }

  /** The walks between two objects that are not the same. */
  async *walks(start: ObjectView, end: ObjectView): AsyncGenerator<Taken[]> {
    const { expansion, isOne } = this
    const { context, edge, counter } = expansion
    const near: Side = {
      search: new BreadthFirst(start, isOne, context),
      follow: (view, length) => stepsOf(expansion, view, length),
      counter,
      prefetch: prefetchOf(expansion),
    }
    const far: Side = {
      search: new BreadthFirst(end, isOne, context),
      follow: (view, length) => this.followBack(view, length),
      counter: this.wayBack.counter,
      prefetch: prefetchBack(this.wayBack),
    }
    try {
      while (near.search.length + far.search.length < edge.max) {
        const isNear = await this.hasTurn(near, far)
        const [side, other] = isNear ? [near, far] : [far, near]
        const { reached } = await side.search.next(side.follow, side.prefetch)
        const met = meetings(reached, other.search, isNear)
        if (met.length > 0) {
          for (const meeting of isOne ? met.slice(0, 1) : met) yield* walksThrough(meeting, edge)
          return
        }
        await side.search.read(reached)
        if (side.search.level.length === 0) return
      }
    } finally {
      near.search.release()
      far.search.release()
    }
  }

  private async followBack(view: ObjectView, length: number): Promise<readonly Step[]> {
    const { neighbours, direction, max, flow } = this.wayBack
    const place = { isFirst: length === 0, mayBeLast: true, mustBeLast: length + 1 >= max }
    const steps = await edgesAt(neighbours, direction, view, place)
    this.expansion.operator.examined += steps.length
    flow.context.expand(steps.length)
    const pause = flow.context.yieldIfDue()
    if (pause !== undefined) await pause
    return steps
  }

  /** Whether the near side goes on next. */
  private async hasTurn(near: Side, far: Side): Promise<boolean> {
    const objects = [near, far].map(({ search }) => search.level.length) as [number, number]
    const isNear = objects[0] <= objects[1]
    // Where to count them is a trip for each object, too.
    if (this.expansion.context.isRemote || Math.max(...objects) > comparedObjectsMax) return isNear
    const [fewer, more] = isNear ? [near, far] : [far, near]
    for (let max = fewEdges; max <= farSideEdgesMax; max *= edgesStep) {
      const edges = await this.edgesAhead(fewer, max)
      const others = await this.edgesAhead(more, edges)
      if (others < edges) return !isNear
      if (edges < max) return isNear
    }
    return isNear
  }

  /** How many edges there are at the objects from which the side goes on, counted up to `max`. */
  private async edgesAhead({ search, counter }: Side, max: number): Promise<number> {
    const { context } = this.expansion
    let edges = 0
    for (const { view } of search.level) {
      if (edges >= max) return max
      edges += await counter(view as ObjectView, max - edges)
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
    return Math.min(edges, max)
  }
}

/** What one side has reached of that from which the other goes on: neither has met anything of the other before. */
function meetings(reached: readonly Reached[], other: BreadthFirst, isNear: boolean): Meeting[] {
  return reached.flatMap((one) => {
    const there = other.get(one.oid)
    // What is not there was met, but not read.
    if (there?.format === undefined) return []
    one.format = there.format
    return [isNear ? { near: one, far: there } : { near: there, far: one }]
  })
}

function* walksThrough({ near, far }: Meeting, edge: BoundEdge): Generator<Taken[]> {
  for (const rest of restsFrom(far, edge)) yield* walksTo(near, rest)
}

/** Of the walks from an object to the far end, as they are seen from the near one. */
function* restsFrom(reached: Reached, edge: BoundEdge): Generator<RestOfWalk | undefined> {
  if (reached.length === 0) yield undefined
  for (const last of reached.by()) {
    const { before } = last
    const found = { edge: last.edge, neighbour: before.oid, place: undefined }
    const neighbourClass = before.format?.cls.name ?? ''
    for (const seen of seenFrom(reached, [found], edge)) {
      const first: Taken = { ...seen, neighbourClass, edgeObject: undefined }
      for (const others of restsFrom(before, edge)) yield { first, others }
    }
  }
}
