/** Shared parts of the operators that follow an edge pattern from a bound vertex: its steps, and the resulting rows. */
import { mapAwaitable } from '../../store/awaitable.ts'
import type { Awaitable } from '../../store/store.ts'
import type { Oid } from '../../types/oid.ts'
import type { ChosenAccessPath } from '../access/choose-access.ts'
import type { BoundEdge, BoundPattern } from '../bind/bind-match.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import type { PathSelection } from '../language/ast.ts'
import type { Edge } from '../values/edge.ts'
import type { BackwardSearch } from './backward-search.ts'
import { IncidentEdges, type Step } from './incident-edges.ts'
import { inputsOf, type MatchFlow, type MatchPipeline } from './match-operator.ts'
import type { MatchRow } from './match-row.ts'
import { mayRevisit, withVertex } from './path-modes.ts'
import { type PredicatePlan, predicateTexts } from './predicates.ts'
import type { VertexPlan } from './vertices.ts'

/** The backward search that also follows the edges, and the place of the pattern in it. */
export interface FarSearch {
  readonly search: BackwardSearch
  readonly place: number
  /** The name of the vertex at the other end. */
  readonly name: string | undefined
}

/** An edge pattern to follow, and which of its ends are bound. */
export interface EdgeStep {
  readonly patterns: readonly BoundPattern[]
  readonly pattern: BoundPattern
  readonly patternNumber: number
  readonly edge: BoundEdge
  readonly edgeNumber: number
  readonly from: VertexPlan
  readonly to: VertexPlan
  readonly toPosition: number
  /** Slots of the vertices of the pattern that are already bound. */
  readonly before: readonly number[]
  /** Whether both ends are bound, so that only the paths between them are searched. */
  readonly isToBound: boolean
  readonly isRightward: boolean
  /** Predicates that can be evaluated once both ends and the edge are bound. */
  readonly predicates: readonly PredicatePlan[]
  /** Set if a search from the other end of the pattern runs as well. */
  readonly farSearch: FarSearch | undefined
  /** Access path to the end of a walk if it is not bound yet and has few candidates. */
  readonly ends: ChosenAccessPath | undefined
}

export function selectionText(selection: PathSelection): string {
  if (selection.kind === 'shortest') return `SHORTEST ${selection.count}`
  return selection.kind === 'any' ? 'ANY' : selection.kind === 'anyShortest' ? 'ANY SHORTEST' : 'ALL SHORTEST'
}

export interface Expansion extends EdgeStep {
  readonly context: StatementContext
  readonly edges: IncidentEdges
  readonly operator: ExplainNode
}

/** Returns the state of one run of an operator. `more` contains further properties for EXPLAIN. */
export function expansionOf(
  step: EdgeStep,
  name: string,
  input: MatchPipeline,
  flow: MatchFlow,
  more: Readonly<Record<string, unknown>>,
): Expansion {
  const edges = new IncidentEdges(step, flow)
  const operator = explainNode(name, detailsOf(step, edges, more), inputsOf(input.operator))
  return { ...step, context: flow.context, edges, operator }
}

const listedNamesMax = 8

function detailsOf(
  { edge, from, to, pattern, predicates, farSearch }: EdgeStep,
  edges: IncidentEdges,
  more: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const names = new Set(edge.attributes.map(({ attribute }) => attribute.name))
  return {
    from: from.name ?? null,
    to: to.name ?? null,
    direction: edges.direction,
    attributes: names.size > listedNamesMax ? 'all' : [...names],
    ...(edge.isVariable ? { edges: `${edge.min}..${edge.max}` } : {}),
    mode: pattern.mode,
    ...(pattern.selection === undefined ? {} : { paths: selectionText(pattern.selection) }),
    ...predicateTexts(predicates),
    ...more,
    /** Undefined until edges have been followed backward. */
    get backwardBy() {
      return edges.ways.size === 0 ? undefined : [...edges.ways]
    },
    /** The vertex from which the edges were found. */
    get foundFrom() {
      return farSearch?.search.isExplored(farSearch.place) === true ? (farSearch.name ?? null) : undefined
    },
  }
}

/** A step of a walk, and the class of the object at its end. */
export interface WalkStep extends Step {
  readonly neighbourClass: string
  readonly edgeObject: ObjectView | undefined
}

/** `length` is that of the walk so far, `bound` the search back from its ends. Returns the steps synchronously if possible. */
export function stepsOf(
  expansion: Expansion,
  view: ObjectView,
  length: number,
  bound?: BackwardSearch,
): Awaitable<readonly Step[]> {
  const { context } = expansion
  return mapAwaitable(stepsWithin(expansion, view, length, bound), (steps) => {
    // The pause follows the read, because prefetched entries may be evicted during it.
    const pause = context.yieldIfDue()
    return pause === undefined ? steps : pause.then(() => steps)
  })
}

function stepsWithin(
  expansion: Expansion,
  view: ObjectView,
  length: number,
  bound: BackwardSearch | undefined,
): Awaitable<readonly Step[]> {
  const { operator, farSearch, edge, edges } = expansion
  const follow = (): Awaitable<Step[]> => followed(expansion, view, length)
  if (bound !== undefined) {
    const note = (count: number): void => noteEdges(expansion, count)
    return bound.stepsAt(edge.max - length - 1, view, { edges, follow, note, operator })
  }
  // Edges that the backward search knows were counted by it.
  return farSearch === undefined
    ? follow()
    : farSearch.search.stepsAt(farSearch.place, view, { edges, follow, operator })
}

function followed(expansion: Expansion, view: ObjectView, length: number): Awaitable<Step[]> {
  return mapAwaitable(expansion.edges.at(view, length), (steps) => {
    noteEdges(expansion, steps.length)
    return steps
  })
}

/** Throws LimitExceeded. */
function noteEdges({ operator, context }: Expansion, count: number): void {
  operator.examined += count
  context.expand(count)
}

export function isBoundEnd({ isToBound, to }: Expansion, row: MatchRow, oid: Oid): boolean {
  return isToBound && (row.slots[to.slot] as ObjectView).oid === oid
}

/** Whether the object is the required end of the walk, or of the class of the end vertex. */
export function mayBeEnd(expansion: Expansion, row: MatchRow, oid: Oid, { format }: ObjectView): boolean {
  const { isToBound, to } = expansion
  if (isToBound) return isBoundEnd(expansion, row, oid)
  return to.cls === null || format?.cls.isOrInherits(to.cls.number) === true
}

/** Returns the row with the walk if it may end at the object; otherwise no row. */
export function arrive(
  expansion: Expansion,
  row: MatchRow,
  visitedOids: ReadonlySet<Oid>,
  walk: readonly WalkStep[],
  view: ObjectView,
): MatchRow[] | undefined {
  const { isToBound, to, toPosition, patterns, pattern, patternNumber, edge, edgeNumber, isRightward } = expansion
  const isRepeated = visitedOids.has(view.oid) && !mayRevisit(pattern, toPosition)
  let next = row
  if (isToBound) {
    if (!isBoundEnd(expansion, row, view.oid)) return undefined
  } else {
    const cls = view.format?.cls
    if (isRepeated || (to.cls !== null && cls?.isOrInherits(to.cls.number) !== true)) return undefined
    const bound = withVertex(patterns, row, toPosition, to.slot, view)
    if (bound === undefined) return undefined
    next = bound
  }
  const between = walk.slice(0, -1).map(({ neighbour }) => neighbour)
  const visited = next.visited.with(patternNumber, [...(next.visited[patternNumber] as readonly Oid[]), ...between])
  const walked = named(expansion, row, walk)
  const edges = isRightward ? walked : walked.reverse()
  const patternEdges = (next.edges[patternNumber] as readonly (readonly Edge[] | undefined)[]).with(edgeNumber, edges)
  const slots = next.slots.with(edge.slot, edge.isVariable ? edges : (walk[0]?.edgeObject ?? edges[0]))
  return [{ slots, visited, edges: next.edges.with(patternNumber, patternEdges) }]
}

/** Returns the row with the end of a path whose edges are unused, or undefined if it must not end there. */
export function arriveWithoutEdges(
  { to, toPosition, patterns, patternNumber, edgeNumber }: Expansion,
  row: MatchRow,
  view: ObjectView,
): MatchRow | undefined {
  const next = withVertex(patterns, row, toPosition, to.slot, view)
  if (next === undefined) return undefined
  const patternEdges = (next.edges[patternNumber] as readonly (readonly Edge[] | undefined)[]).with(edgeNumber, [])
  return { ...next, edges: next.edges.with(patternNumber, patternEdges) }
}

/** The edges with the classes of both ends. */
function named({ from }: Expansion, row: MatchRow, walk: readonly WalkStep[]): Edge[] {
  let nearClass = (row.slots[from.slot] as ObjectView).format?.cls.name ?? ''
  return walk.map(({ edge, neighbour, neighbourClass }) => {
    const isForward = edge.to === neighbour && edge.fromClass !== ''
    const [fromClass, toClass] = isForward ? [nearClass, neighbourClass] : [neighbourClass, nearClass]
    nearClass = neighbourClass
    return { ...edge, fromClass, toClass }
  })
}
