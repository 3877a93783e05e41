/** The walks by which breadth-first searches have reached an object. */
import type { BoundEdge } from '../bind/bind-match.ts'
import type { Reached } from './breadth-first.ts'
import type { WalkStep } from './expansion.ts'
import { seenFrom } from './incident-edges.ts'

/** The edges of a walk from one of its vertices to the end. */
interface RestOfWalk {
  readonly first: WalkStep
  readonly others: RestOfWalk | undefined
}

/** Yields the distinct walks from the start of the search to `end`, followed by `rest`. */
export function* walksTo(end: Reached, rest?: RestOfWalk): Generator<WalkStep[]> {
  if (end.distance === 0) {
    const walk: WalkStep[] = []
    for (let at = rest; at !== undefined; at = at.others) walk.push(at.first)
    yield walk
    return
  }
  const neighbourClass = end.format?.cls.name ?? ''
  for (const { before, edge } of end.predecessors()) {
    const first: WalkStep = { edge, neighbour: end.oid, place: undefined, neighbourClass, edgeObject: undefined }
    yield* walksTo(before, { first, others: rest })
  }
}

/** The walks through objects that the searches from both ends have reached. */
export function* walksThrough(met: readonly [Reached, Reached][], edge: BoundEdge): Generator<WalkStep[]> {
  for (const [forward, backward] of met) for (const rest of restsFrom(backward, edge)) yield* walksTo(forward, rest)
}

/** The walks from an object to the far end, as seen from the near one. */
function* restsFrom(reached: Reached, edge: BoundEdge): Generator<RestOfWalk | undefined> {
  if (reached.distance === 0) yield undefined
  for (const last of reached.predecessors()) {
    const { before } = last
    const found = { edge: last.edge, neighbour: before.oid, place: undefined }
    const neighbourClass = before.format?.cls.name ?? ''
    for (const seen of seenFrom(reached, [found], edge)) {
      const first: WalkStep = { ...seen, neighbourClass, edgeObject: undefined }
      for (const others of restsFrom(before, edge)) yield { first, others }
    }
  }
}
