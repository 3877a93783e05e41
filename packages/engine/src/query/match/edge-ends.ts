/** An edge pattern as followed from one of its ends: the direction, and the objects at the other end. */
import type { BoundEdge } from '../bind/bind-match.ts'
import { endsAtEdgeObject, type ReferenceAttribute } from '../bind/reference-attributes.ts'
import { isFollowedBack } from './linked-objects.ts'
import type { VertexPlan } from './vertices.ts'

/** As seen from the vertex that has an object. */
export type Direction = 'forward' | 'backward' | 'either'

/** What tells which edges are followed. */
export interface EdgeEnds {
  readonly edge: BoundEdge
  readonly to: VertexPlan
  /** From the pattern's left to its right. */
  readonly isRightward: boolean
}

export function directionOf({ edge, isRightward }: EdgeEnds): Direction {
  if (edge.direction === 'either') return 'either'
  return (edge.direction === 'forward') === isRightward ? 'forward' : 'backward'
}

/** The same edge pattern as it is followed from its other end; `from`: the vertex where it began. */
export function turned({ edge, isRightward }: EdgeEnds, from: VertexPlan): EdgeEnds {
  return { edge, to: from, isRightward: !isRightward }
}

/** An edge leads elsewhere as the first or last of a walk than within it. */
export function isSplit({ attributes, leftLabel, rightLabel }: BoundEdge): boolean {
  return attributes.some((one) => endsAtEdgeObject(one, leftLabel) || endsAtEdgeObject(one, rightLabel))
}

/** Whether the edges are found from the other end as well: the same ones, and none of them by a scan. */
export function isFoundFromFarEnd(ends: EdgeEnds): boolean {
  const { edge } = ends
  if (isSplit(edge)) return false
  const direction = directionOf(ends)
  return direction === 'backward' || edge.attributes.every(isFollowedBackWhole)
}

function isFollowedBackWhole(reference: ReferenceAttribute): boolean {
  return isFollowedBack(reference) && (reference.edge === undefined || isFollowedBack(reference.edge.leading))
}
