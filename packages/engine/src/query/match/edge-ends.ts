/** An edge pattern as followed from one of its ends: the direction, and the objects at the other end. */
import type { BoundEdge } from '../bind/bind-match.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { MatchFlow } from './match-operator.ts'
import { NarrowedEdges } from './narrowed-edges.ts'
import { Neighbours, type Step, type StepPlace } from './neighbours.ts'
import type { VertexPlan } from './vertices.ts'

/** What tells which edges are followed. */
export interface EdgeEnds {
  readonly edge: BoundEdge
  readonly to: VertexPlan
  /** From the pattern's left to its right. */
  readonly isRightward: boolean
}

export type Direction = 'forward' | 'backward' | 'either'

/** As seen from the vertex that has an object. */
export function directionOf({ edge, isRightward }: EdgeEnds): Direction {
  if (edge.direction === 'either') return 'either'
  return (edge.direction === 'forward') === isRightward ? 'forward' : 'backward'
}

export function neighboursOf({ edge, to, isRightward }: EdgeEnds, flow: MatchFlow): Neighbours {
  const { leftLabel, rightLabel } = edge
  const labels = isRightward ? { begin: leftLabel, end: rightLabel } : { begin: rightLabel, end: leftLabel }
  if (edge.max > 1) return new Neighbours(flow.context, edge.attributes, labels, undefined, undefined)
  // Within a walk of several edges there are other objects than those of the vertex.
  const narrowed = to.narrowed.length === 0 ? undefined : new NarrowedEdges(to.narrowed, flow)
  return new Neighbours(flow.context, edge.attributes, labels, to.cls ?? undefined, narrowed)
}

export async function edgesAt(
  neighbours: Neighbours,
  direction: Direction,
  view: ObjectView,
  place: StepPlace,
): Promise<Step[]> {
  const forward = direction === 'backward' ? [] : await neighbours.forward(view, place)
  const backward = direction === 'forward' ? [] : await neighbours.backward(view, place)
  return backward.length === 0 ? forward : [...forward, ...backward]
}

/** Tells how many edges of the pattern there are at an object, counted up to `max`. */
export type EdgeCounter = (view: ObjectView, max: number) => Promise<number>

export function edgeCounter(ends: EdgeEnds, flow: MatchFlow): EdgeCounter {
  const neighbours = neighboursOf(ends, flow)
  const direction = directionOf(ends)
  return (view, max) => neighbours.countAt(view, direction, max)
}
