/** An edge pattern as followed from one of its ends: the direction, and the objects at the other end. */
import type { BoundEdge } from '../bind/bind-match.ts'
import { endsAtEdgeObject, type ReferenceAttribute } from '../bind/reference-attributes.ts'
import { isFollowedBack } from './linked-objects.ts'
import type { VertexPlan } from './vertices.ts'

export type Direction = 'forward' | 'backward' | 'either'

export interface EdgeEnds {
  readonly edge: BoundEdge
  readonly to: VertexPlan
  readonly isRightward: boolean
}

export function directionOf({ edge, isRightward }: EdgeEnds): Direction {
  if (edge.direction === 'either') return 'either'
  return (edge.direction === 'forward') === isRightward ? 'forward' : 'backward'
}

/** Returns the same edge pattern followed from its other end; `from` is the vertex at this end. */
export function reversed({ edge, isRightward }: EdgeEnds, from: VertexPlan): EdgeEnds {
  return { edge, to: from, isRightward: !isRightward }
}

/** Whether edges lead to different objects as the first or last edge of a walk than within it. */
export function isSplit({ attributes, leftLabel, rightLabel }: BoundEdge): boolean {
  return attributes.some((one) => endsAtEdgeObject(one, leftLabel) || endsAtEdgeObject(one, rightLabel))
}

/** Whether the same edges can be found from the other end, and none of them by a scan. */
export function isFoundFromFarEnd(ends: EdgeEnds): boolean {
  const { edge } = ends
  if (isSplit(edge)) return false
  const direction = directionOf(ends)
  return direction === 'backward' || edge.attributes.every(isFullyFollowedBack)
}

function isFullyFollowedBack(reference: ReferenceAttribute): boolean {
  return isFollowedBack(reference) && (reference.edge === undefined || isFollowedBack(reference.edge.leading))
}
