/** What operators have in common that follow an edge pattern from a vertex with an object: its steps, and the rows in which they end. */
import type { Oid } from '../../types/oid.ts'
import type { BoundEdge, BoundPattern } from '../bind/bind-match.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import type { PathSelection } from '../language/ast.ts'
import type { Edge } from '../values/edge.ts'
import { inputsOf, type MatchFlow, type MatchPipeline } from './match-operator.ts'
import type { MatchRow } from './match-row.ts'
import { NarrowedEdges } from './narrowed-edges.ts'
import { Neighbours, type Step } from './neighbours.ts'
import { mayBeMetAgain, withVertex } from './path-modes.ts'
import { type PredicatePlan, predicateTexts } from './predicates.ts'
import type { VertexPlan } from './vertices.ts'

/** An edge pattern whose turn it is, and which of its ends has an object by then. */
export interface EdgeStep {
  readonly patterns: readonly BoundPattern[]
  readonly pattern: BoundPattern
  readonly patternNumber: number
  readonly edge: BoundEdge
  readonly edgeNumber: number
  readonly from: VertexPlan
  readonly to: VertexPlan
  /** Among the vertices of the MATCH. */
  readonly toPosition: number
  /** Both ends have objects: what is looked for is the way between them. */
  readonly isToBound: boolean
  /** From the pattern's left to its right. */
  readonly isRightward: boolean
  /** Those that can be decided once both ends and the edge are known. */
  readonly predicates: readonly PredicatePlan[]
}

/** As it is written. */
export function selectionText(selection: PathSelection): string {
  if (selection.kind === 'shortest') return `SHORTEST ${selection.count}`
  return selection.kind === 'any' ? 'ANY' : selection.kind === 'anyShortest' ? 'ANY SHORTEST' : 'ALL SHORTEST'
}

/** What tells which edges are followed. */
type EdgeEnds = Pick<EdgeStep, 'edge' | 'to' | 'isRightward'>

type Direction = 'forward' | 'backward' | 'either'

/** Of one run. */
export interface Expansion extends EdgeStep {
  readonly context: StatementContext
  readonly neighbours: Neighbours
  readonly direction: Direction
  readonly operator: ExplainNode
}

/** What an operator of the name goes by: of one run. */
export function expansionOf(step: EdgeStep, name: string, input: MatchPipeline, flow: MatchFlow): Expansion {
  const direction = directionOf(step)
  const neighbours = neighboursOf(step, flow)
  const operator = explainNode(name, detailsOf(step, direction, neighbours), inputsOf(input.operator))
  return { ...step, context: flow.context, neighbours, direction, operator }
}

/** As seen from the vertex that has an object. */
function directionOf({ edge, isRightward }: EdgeEnds): Direction {
  if (edge.direction === 'either') return 'either'
  return (edge.direction === 'forward') === isRightward ? 'forward' : 'backward'
}

function neighboursOf({ edge, to, isRightward }: EdgeEnds, flow: MatchFlow): Neighbours {
  const { leftLabel, rightLabel } = edge
  const labels = isRightward ? { begin: leftLabel, end: rightLabel } : { begin: rightLabel, end: leftLabel }
  if (edge.max > 1) return new Neighbours(flow.context, edge.attributes, labels, undefined, undefined)
  // Within a walk of several edges there are other objects than those of the vertex.
  const narrowed = to.narrowed.length === 0 ? undefined : new NarrowedEdges(to.narrowed, flow)
  return new Neighbours(flow.context, edge.attributes, labels, to.cls ?? undefined, narrowed)
}

/** Tells how many edges of the pattern there are at an object, counted up to `max`. */
export type EdgeCounter = (view: ObjectView, max: number) => Promise<number>

export function edgeCounter(ends: EdgeEnds, flow: MatchFlow): EdgeCounter {
  const neighbours = neighboursOf(ends, flow)
  const direction = directionOf(ends)
  return (view, max) => neighbours.countAt(view, direction, max)
}

const namesShownMax = 8

function detailsOf(
  { edge, from, to, pattern, predicates }: EdgeStep,
  direction: Direction,
  neighbours: Neighbours,
): Readonly<Record<string, unknown>> {
  const names = new Set(edge.attributes.map(({ attribute }) => attribute.name))
  return {
    from: from.name ?? null,
    to: to.name ?? null,
    direction,
    attributes: names.size > namesShownMax ? 'all' : [...names],
    ...(edge.isVariable ? { edges: `${edge.min}..${edge.max}` } : {}),
    mode: pattern.mode,
    ...(pattern.selection === undefined ? {} : { paths: selectionText(pattern.selection) }),
    ...predicateTexts(predicates),
    /** Known when edges have been followed. */
    get backwardBy() {
      return neighbours.ways.size === 0 ? undefined : [...neighbours.ways]
    },
  }
}

/** A step that was taken, and the class of the object that it led to. */
export interface Taken extends Step {
  readonly neighbourClass: string
  readonly edgeObject: ObjectView | undefined
}

/** `length`: of the walk so far. */
export async function stepsOf(
  { neighbours, operator, direction, context, edge }: Expansion,
  view: ObjectView,
  length: number,
): Promise<Step[]> {
  const place = { isFirst: length === 0, mayBeLast: length + 1 >= edge.min, mustBeLast: length + 1 >= edge.max }
  const forward = direction === 'backward' ? [] : await neighbours.forward(view, place)
  const backward = direction === 'forward' ? [] : await neighbours.backward(view, place)
  const steps = backward.length === 0 ? forward : [...forward, ...backward]
  operator.examined += steps.length
  context.expand(steps.length)
  const pause = context.yieldIfDue()
  if (pause !== undefined) await pause
  return steps
}

export function isBoundEnd({ isToBound, to }: Expansion, row: MatchRow, oid: Oid): boolean {
  return isToBound && (row.slots[to.slot] as ObjectView).oid === oid
}

/** Whether the object is the one at which walks are to end, or of the class of such. */
export function mayBeEnd(expansion: Expansion, row: MatchRow, oid: Oid, { format }: ObjectView): boolean {
  const { isToBound, to } = expansion
  if (isToBound) return isBoundEnd(expansion, row, oid)
  return to.cls === null || format?.cls.isOrInherits(to.cls.number) === true
}

/** The row with the walk, where it may end at that object: one or none. */
export function arrive(
  expansion: Expansion,
  row: MatchRow,
  been: ReadonlySet<Oid>,
  walk: readonly Taken[],
  view: ObjectView,
): MatchRow[] | undefined {
  const { isToBound, to, toPosition, patterns, pattern, patternNumber, edge, edgeNumber, isRightward } = expansion
  const isAgain = been.has(view.oid) && !mayBeMetAgain(pattern, toPosition)
  let next = row
  if (isToBound) {
    if (!isBoundEnd(expansion, row, view.oid)) return undefined
  } else {
    const cls = view.format?.cls
    if (isAgain || (to.cls !== null && cls?.isOrInherits(to.cls.number) !== true)) return undefined
    const bound = withVertex(patterns, row, toPosition, to.slot, view)
    if (bound === undefined) return undefined
    next = bound
  }
  const between = walk.slice(0, -1).map(({ neighbour }) => neighbour)
  const visited = next.visited.with(patternNumber, [...(next.visited[patternNumber] as readonly Oid[]), ...between])
  const walked = named(expansion, row, walk)
  const edges = isRightward ? walked : walked.reverse()
  const ofPattern = (next.edges[patternNumber] as readonly (readonly Edge[] | undefined)[]).with(edgeNumber, edges)
  const slots = next.slots.with(edge.slot, edge.isVariable ? edges : (walk[0]?.edgeObject ?? edges[0]))
  return [{ slots, visited, edges: next.edges.with(patternNumber, ofPattern) }]
}

/** The edges with the classes of both their ends. */
function named({ from }: Expansion, row: MatchRow, walk: readonly Taken[]): Edge[] {
  let nearClass = (row.slots[from.slot] as ObjectView).format?.cls.name ?? ''
  return walk.map(({ edge, neighbour, neighbourClass }) => {
    const isForward = edge.to === neighbour && edge.fromClass !== ''
    const [fromClass, toClass] = isForward ? [nearClass, neighbourClass] : [neighbourClass, nearClass]
    nearClass = neighbourClass
    return { ...edge, fromClass, toClass }
  })
}
