/** The walks by which a breadth-first search has reached an object. */
import type { Reached } from './breadth-first.ts'
import type { Taken } from './expansion.ts'

/** The edges of a walk from one of its vertices on. */
export interface RestOfWalk {
  readonly first: Taken
  readonly others: RestOfWalk | undefined
}

/** From the beginning, each by other edges; `rest`: from `end` on. */
export function* walksTo(end: Reached, rest?: RestOfWalk): Generator<Taken[]> {
  if (end.length === 0) {
    const walk: Taken[] = []
    for (let at = rest; at !== undefined; at = at.others) walk.push(at.first)
    yield walk
    return
  }
  const neighbourClass = end.format?.cls.name ?? ''
  for (const { before, edge } of end.by()) {
    const first: Taken = { edge, neighbour: end.oid, place: undefined, neighbourClass, edgeObject: undefined }
    yield* walksTo(before, { first, others: rest })
  }
}
