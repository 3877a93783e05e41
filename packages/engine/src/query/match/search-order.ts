/** Chooses at run time the order of a MATCH search: from the vertex with the fewest candidates along the edges. */
import type { ChosenAccessPath } from '../access/choose-access.ts'
import { type BoundEdge, type BoundPattern, innerVertices } from '../bind/bind-match.ts'
import { type EdgeYields, edgeYields } from './branch-order.ts'
import { expand } from './expand.ts'
import { farEndSearches, type SearchPlace } from './far-side.ts'
import { lookupJoin } from './lookup-join.ts'
import { planLookup, planningOfRun } from './lookup-plan.ts'
import type { MatchFlow, MatchOperator } from './match-operator.ts'
import { optionalMatch } from './optional-match.ts'
import { withVertex } from './path-modes.ts'
import { type EdgePlace, endsOf, type OptionalPlan, type PatternsPlan } from './patterns-plan.ts'
import type { PredicatePlan } from './predicates.ts'
import { selectPaths } from './select-paths.ts'
import { isBreadthFirst, shortestPaths } from './shortest-paths.ts'
import { type ChosenVertex, startVertex, VertexChoices } from './start-vertex.ts'
import { type VertexPlan, vertices } from './vertices.ts'
import { walks } from './walks.ts'

/** A MATCH or an OPTIONAL MATCH: the numbers of its patterns, and the positions of its new vertices. */
interface Part {
  readonly patterns: readonly number[]
  /** All patterns; patterns of other parts have no vertices here. */
  readonly masked: readonly BoundPattern[]
  readonly vertices: readonly number[]
  readonly predicates: readonly PredicatePlan[]
}

/** The bound slots in each row before the next operator. */
interface Progress {
  readonly bound: Set<number>
  readonly filled: Set<number>
  readonly predicatesLeft: Set<PredicatePlan>
  /** Numbers of the patterns whose paths are still to be selected. */
  readonly choosing: Set<number>
}

export async function operatorsInOrder(planned: PatternsPlan, flow: MatchFlow): Promise<MatchOperator[]> {
  const plan: PatternsPlan = { ...planned, planning: planningOfRun(planned.planning) }
  const { patterns, vertices: all, optional } = plan
  const bound = new Set<number>()
  const filled = new Set<number>()
  const partOf = (
    first: { pattern: number; vertex: number },
    next: OptionalPlan | undefined,
  ): Omit<Part, 'predicates'> => {
    const end = next?.firstPattern ?? patterns.length
    const isOwn = (number: number): boolean => number >= first.pattern && number < end
    return {
      patterns: range(first.pattern, end),
      masked: patterns.map((pattern, number) => (isOwn(number) ? pattern : { ...pattern, vertices: [] })),
      vertices: range(first.vertex, next?.firstVertex ?? all.length),
    }
  }
  const choices = new VertexChoices(plan, flow)
  const own: Part = { ...partOf({ pattern: 0, vertex: 0 }, optional[0]), predicates: plan.predicates }
  const operators = await operatorsOf(plan, own, { bound, filled }, choices, flow)
  for (const [i, { firstPattern, firstVertex, predicates, ordinalSlot }] of optional.entries()) {
    const part: Part = { ...partOf({ pattern: firstPattern, vertex: firstVertex }, optional[i + 1]), predicates }
    const named = new Set(part.patterns.flatMap((number) => (patterns[number] as BoundPattern).vertices))
    const boundPositions = [...named].filter((position) => bound.has(position))
    const within = await operatorsOf(plan, part, { bound, filled }, choices, flow)
    operators.push(
      optionalMatch({
        operators: within,
        patterns: part.masked,
        boundVertices: boundPositions.map((position) => ({ position, slot: (all[position] as VertexPlan).slot })),
        ordinalSlot,
        keepsOrder: !part.patterns.some((number) => isChoosing(plan, number)),
      }),
    )
  }
  return operators
}

function range(from: number, end: number): number[] {
  return Array.from({ length: end - from }, (_, i) => from + i)
}

/** `initial` is the progress of the input rows. */
async function operatorsOf(
  plan: PatternsPlan,
  part: Part,
  initial: Pick<Progress, 'bound' | 'filled'>,
  choices: VertexChoices,
  flow: MatchFlow,
): Promise<MatchOperator[]> {
  const choosing = new Set(part.patterns.filter((number) => isChoosing(plan, number)))
  const progress: Progress = { ...initial, predicatesLeft: new Set(part.predicates), choosing }
  const operators: MatchOperator[] = []
  const left = new Set(
    part.patterns.flatMap((patternNumber) => {
      const { edges } = plan.patterns[patternNumber] as BoundPattern
      return edges.map((_edge, edgeNumber): EdgePlace => ({ patternNumber, edgeNumber }))
    }),
  )
  let searchPlaces: readonly SearchPlace[] = []
  let yields: EdgeYields = new Map()
  while (left.size > 0 || part.vertices.some((position) => !progress.bound.has(position))) {
    const pause = flow.context.yieldIfDue()
    if (pause !== undefined) await pause
    const next = nextEdge(plan, left, progress, yields)
    if (next === undefined) {
      const unbound = part.vertices.filter((position) => !progress.bound.has(position))
      const start = await startVertex(plan, unbound, left, choices, flow)
      const isFirst = operators.length === 0 && progress.bound.size === 0
      const { access, estimated } = start.chosen
      const isExtent = access === (plan.vertices[start.position] as VertexPlan).objects.extent
      // Otherwise its objects would be read again for each row.
      const lookup = isExtent || estimated > fewObjects ? lookupOperator(plan, part, progress, unbound) : undefined
      operators.push(lookup ?? vertexOperator(plan, part, progress, start))
      if (isFirst && lookup === undefined) {
        searchPlaces = farEndSearches(plan, part.patterns, start, flow)
        yields = await edgeYields(plan, start, left, flow)
      }
      continue
    }
    const other = await otherEnd(plan, progress, next, choices)
    const isFirstBound = other !== undefined && other.chosen.estimated <= fewEnds
    if (!isFirstBound) left.delete(next)
    operators.push(
      isFirstBound
        ? vertexOperator(plan, part, progress, other)
        : edgeOperator(plan, part, progress, next, searchPlaces, other?.chosen),
    )
    const { patternNumber } = next
    const isFollowed = ![...left].some((place) => place.patternNumber === patternNumber)
    if (isFollowed && progress.choosing.has(patternNumber))
      operators.push(selectionOperator(plan, progress, patternNumber))
  }
  const patterns = part.patterns.map((number): [number, BoundPattern] => [
    number,
    plan.patterns[number] as BoundPattern,
  ])
  for (const [, { slot }] of patterns) progress.filled.add(slot)
  const last = walks({ patterns, vertices: plan.vertices, predicates: decidable(plan, progress) })
  return last === undefined ? operators : [...operators, last]
}

/** Prefers an edge whose other end is bound, then the order of the sample or the text. Undefined if no vertex of an edge is bound. */
function nextEdge(
  plan: PatternsPlan,
  left: ReadonlySet<EdgePlace>,
  { bound }: Progress,
  yields: EdgeYields,
): EdgePlace | undefined {
  let best: EdgePlace | undefined
  let least = Number.POSITIVE_INFINITY
  for (const place of left) {
    const [isLeftBound, isRightBound] = endsOf(plan, place).map((vertex) => bound.has(vertex))
    if (isLeftBound !== true && isRightBound !== true) continue
    const found = yields.size > 0 && isLeftBound === isRightBound ? 0 : (yields.get(place) ?? 1)
    if (found < least) [best, least] = [place, found]
  }
  return best
}

function vertexOperator(
  plan: PatternsPlan,
  part: Part,
  progress: Progress,
  { position, chosen }: ChosenVertex,
): MatchOperator {
  const { bound, filled, predicatesLeft } = progress
  const vertex = plan.vertices[position] as VertexPlan
  bound.add(position)
  for (const predicate of vertex.checked) predicatesLeft.delete(predicate)
  filled.add(vertex.slot)
  return vertices({ vertex, position, patterns: part.masked, chosen, predicates: decidable(plan, progress) })
}

/** An index lookup by values of the row, instead of a scan of all objects of the vertex per row. */
function lookupOperator(
  plan: PatternsPlan,
  part: Part,
  progress: Progress,
  unbound: readonly number[],
): MatchOperator | undefined {
  const { bound, filled, predicatesLeft } = progress
  const equal = [...predicatesLeft].filter((predicate) => {
    const { kind } = predicate.bound
    const isEqual = kind === 'compare' && predicate.bound.operator === 'equal'
    return isEqual && predicate.needs.size > 1 && !waitsForSelection(predicate, plan, progress)
  })
  for (const position of unbound) {
    const vertex = plan.vertices[position] as VertexPlan
    const { slot, source, checked } = vertex
    const predicates = [...equal, ...checked]
    const lookup = source && planLookup({ predicates, planning: plan.planning }, { source, slot }, filled)
    if (lookup === undefined) continue
    bound.add(position)
    filled.add(slot)
    for (const predicate of checked) predicatesLeft.delete(predicate)
    return lookupJoin(vertex, lookup, decidable(plan, progress), (row, at, view) => {
      return withVertex(part.masked, row, position, at, view)
    })
  }
  return undefined
}

function edgeOperator(
  plan: PatternsPlan,
  part: Part,
  progress: Progress,
  place: EdgePlace,
  searchPlaces: readonly SearchPlace[],
  ends: ChosenAccessPath | undefined,
): MatchOperator {
  const { bound, filled } = progress
  const patterns = part.masked
  const pattern = patterns[place.patternNumber] as BoundPattern
  const edge = pattern.edges[place.edgeNumber] as BoundEdge
  const [left, right] = endsOf(plan, place)
  const isRightward = bound.has(left)
  const [fromPosition, toPosition] = isRightward ? [left, right] : [right, left]
  const from = plan.vertices[fromPosition] as VertexPlan
  const to = plan.vertices[toPosition] as VertexPlan
  const isToBound = bound.has(toPosition)
  const boundVertices = pattern.vertices.filter((position) => bound.has(position))
  const before = boundVertices.map((position) => (plan.vertices[position] as VertexPlan).slot)
  bound.add(toPosition)
  filled.add(to.slot)
  filled.add(edge.slot)
  const operator = isBreadthFirst(pattern, part.predicates) ? shortestPaths : expand
  if (operator === shortestPaths) progress.choosing.delete(place.patternNumber)
  const predicates = decidable(plan, progress)
  const searchPlace = searchPlaces.find(({ patternNumber, edgeNumber, ...other }) => {
    const isThere = patternNumber === place.patternNumber && edgeNumber === place.edgeNumber
    return isThere && other.isRightward === isRightward
  })
  const step = { pattern, edge, from, to, toPosition, before, isToBound, isRightward, ends }
  return operator({ ...place, ...step, farSearch: searchPlace?.farSearch, patterns, predicates })
}

/** Removes and returns the predicates whose slots are now all filled. */
function decidable(plan: PatternsPlan, progress: Progress): PredicatePlan[] {
  const { filled, predicatesLeft } = progress
  const now = [...predicatesLeft].filter((predicate) => {
    return [...predicate.needs].every((slot) => filled.has(slot)) && !waitsForSelection(predicate, plan, progress)
  })
  for (const predicate of now) predicatesLeft.delete(predicate)
  return now
}

/** Whether the predicate must wait for the selection of paths because it needs more than their ends and is not part of the pattern. */
function waitsForSelection(
  { needs, isInPattern }: PredicatePlan,
  { patterns, vertices }: PatternsPlan,
  { choosing }: Progress,
): boolean {
  for (const number of choosing) {
    const pattern = patterns[number] as BoundPattern
    const slotOf = (position: number): number => (vertices[position] as VertexPlan).slot
    const inner = new Set([...innerVertices(pattern).map(slotOf), ...pattern.edges.map(({ slot }) => slot)])
    const own = new Set([...inner, ...pattern.vertices.map(slotOf)])
    const needsPath = [...needs].some((slot) => inner.has(slot))
    if (needsPath && !(isInPattern && [...needs].every((slot) => own.has(slot)))) return true
  }
  return false
}

function isChoosing({ patterns }: PatternsPlan, number: number): boolean {
  const { selection, edges } = patterns[number] as BoundPattern
  return selection !== undefined && edges.length > 0
}

function selectionOperator(plan: PatternsPlan, progress: Progress, patternNumber: number): MatchOperator {
  const { patterns, vertices } = plan
  progress.choosing.delete(patternNumber)
  const pattern = patterns[patternNumber] as BoundPattern
  return selectPaths({ pattern, patternNumber, vertices, predicates: decidable(plan, progress) })
}

/** This few objects of a vertex are read again for each row, because a lookup of a value may find many. */
const fewObjects = 32
/** This few ends of long walks are looked up first, so that a walk knows its possible ends. */
const fewEnds = 16
/** The maximum number of ends from which a walk is bounded by a backward search. */
const boundingEndsMax = 1_000

/** The end of a walk of several edges, if it has few candidates. */
async function otherEnd(
  plan: PatternsPlan,
  { bound }: Progress,
  place: EdgePlace,
  choices: VertexChoices,
): Promise<ChosenVertex | undefined> {
  const edge = (plan.patterns[place.patternNumber] as BoundPattern).edges[place.edgeNumber] as BoundEdge
  const position = endsOf(plan, place).find((end) => !bound.has(end))
  if (edge.max === 1 || position === undefined) return undefined
  const { objects } = plan.vertices[position] as VertexPlan
  if (objects.accesses.length === 0) return undefined
  const chosen = await choices.of(position)
  return chosen.estimated <= boundingEndsMax && chosen.access !== objects.extent ? { position, chosen } : undefined
}
