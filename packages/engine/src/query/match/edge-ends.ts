/** An edge pattern as followed from one of its ends: the direction, and the objects at the other end. */
import { farSideEdgesMax } from '../../limits.ts'
import { mapAwaitable } from '../../store/awaitable.ts'
import type { Awaitable } from '../../store/store.ts'
import type { Oid } from '../../types/oid.ts'
import type { BoundEdge } from '../bind/bind-match.ts'
import { endsAtEdgeObject, type ReferenceAttribute } from '../bind/reference-attributes.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { isFollowedBack } from './linked-objects.ts'
import type { MatchFlow } from './match-operator.ts'
import { NarrowedEdges } from './narrowed-edges.ts'
import { type Direction, Neighbours, type Step, type StepPlace } from './neighbours.ts'
import { edgeKey } from './path-modes.ts'
import type { VertexPlan } from './vertices.ts'

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

/** By which the bounds grow up to which edges are counted. */
export const countsStep = 4

/** The edges of one pattern at the objects of one of its ends: those that are incident to each. */
export class IncidentEdges {
  readonly direction: Direction
  private readonly edge: BoundEdge
  private readonly neighbours: Neighbours

  constructor(ends: EdgeEnds, flow: MatchFlow) {
    const { edge, to, isRightward } = ends
    const { leftLabel, rightLabel, attributes } = edge
    this.edge = edge
    this.direction = directionOf(ends)
    const labels = isRightward ? { begin: leftLabel, end: rightLabel } : { begin: rightLabel, end: leftLabel }
    // Within a walk of several edges there are other objects than those of the vertex.
    const isOne = edge.max <= 1
    const narrowed = isOne && to.narrowed.length > 0 ? new NarrowedEdges(to.narrowed, flow) : undefined
    this.neighbours = new Neighbours(
      flow.context,
      attributes,
      labels,
      isOne ? (to.cls ?? undefined) : undefined,
      narrowed,
    )
  }

  /** How edges were followed back, for EXPLAIN. */
  get ways(): ReadonlySet<string> {
    return this.neighbours.ways
  }

  /** `distance`: of the object from where the walk begins. Without a promise where nothing has to be waited for. */
  at(view: ObjectView, distance: number): Awaitable<Step[]> {
    const { neighbours, direction } = this
    const place = this.placeAt(distance)
    if (direction === 'backward') return neighbours.backward(view, place)
    const found = neighbours.forward(view, place)
    if (direction === 'forward') return found
    return mapAwaitable(found, (forward) => {
      return mapAwaitable(neighbours.backward(view, place), (backward) => {
        return backward.length === 0 ? forward : [...withoutLoops(forward, view.oid, backward), ...backward]
      })
    })
  }

  /** How many there are at the object, counted up to `max`. */
  count(view: ObjectView, max: number): Promise<number> {
    return this.neighbours.countAt(view, this.direction, max)
  }

  /**
   * How many there are at the object, where there are not too many to be kept; yields what it costs to count more than `few`. `countedPerEdge`: so
   * many are counted for what it costs to follow one.
   */
  async *countInSteps(view: ObjectView, few: number, countedPerEdge: number): AsyncGenerator<number, number> {
    for (let max = few; ; max = Math.min(max * countsStep, farSideEdgesMax + 1)) {
      const count = await this.count(view, max)
      if (count < max || max > farSideEdgesMax) return count
      yield Math.ceil(count / countedPerEdge)
    }
  }

  /** Where each read is a trip: reads together what the edges at objects of that distance are found by. */
  prefetch(views: readonly ObjectView[], distance: number): Promise<void> {
    return this.neighbours.prefetch(views, this.direction, this.placeAt(distance))
  }

  private placeAt(distance: number): StepPlace {
    const { min, max } = this.edge
    return { isFirst: distance === 0, mayBeLast: distance + 1 >= min, mustBeLast: distance + 1 >= max }
  }
}

/** A reference of an object to itself is one edge, in whichever direction it is found. */
function withoutLoops(forward: readonly Step[], oid: Oid, backward: readonly Step[]): readonly Step[] {
  const isLoop = ({ neighbour }: Step): boolean => neighbour === oid
  if (!forward.some(isLoop)) return forward
  const found = new Set(backward.filter(isLoop).map(({ edge }) => edgeKey(edge)))
  return forward.filter((step) => !isLoop(step) || !found.has(edgeKey(step.edge)))
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

/** Edges as the object sees them that were found from their other ends. */
export function seenFrom(
  { format }: Pick<ObjectView, 'format'>,
  steps: readonly Step[],
  { attributes }: BoundEdge,
): Step[] {
  const name = format?.cls.name ?? ''
  return steps.map(({ edge, neighbour, place }) => {
    const { attributeNumber } = edge
    // It was followed back, from the object that it refers to.
    if (edge.fromClass === '') {
      const attribute = format?.attribute(attributeNumber)?.attribute.outputName ?? edge.attribute
      return { edge: { ...edge, attribute, fromClass: name, toClass: '' }, neighbour, place }
    }
    const declared = attributes.find(({ attribute }) => attribute.number === attributeNumber)
    const attribute = declared?.attribute.name ?? edge.attribute
    return { edge: { ...edge, attribute, fromClass: '', toClass: name }, neighbour, place }
  })
}
