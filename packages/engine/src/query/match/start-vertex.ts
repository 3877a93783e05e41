/** Chooses the vertex at which the search of a MATCH starts: the one with the fewest objects and edges. */
import { assert } from '../../errors.ts'
import type { Awaitable } from '../../store/store.ts'
import { type ChosenAccessPath, chooseAccess } from '../access/choose-access.ts'
import { objectRows } from '../access/object-rows.ts'
import type { BoundEdge, BoundPattern } from '../bind/bind-match.ts'
import { unknownValue } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { EdgeEnds } from './edge-ends.ts'
import { IncidentEdges } from './incident-edges.ts'
import type { MatchFlow } from './match-operator.ts'
import { type EdgePlace, endsOf, type PatternsPlan } from './patterns-plan.ts'
import type { VertexPlan } from './vertices.ts'

/** A vertex with the chosen access path to its objects. */
export interface ChosenVertex {
  readonly position: number
  readonly chosen: ChosenAccessPath
}

/** Vertices with more objects are not sampled. */
const comparedObjectsMax = 1_000
/** Sample size for counting the edges of a vertex. */
const sampledObjects = 16
/** The bounds for counting edges grow by the factor `edgesStep`, so the cheapest vertex limits the cost of the choice. */
const fewEdges = 64
const edgesStep = 4
const comparedEdgesMax = fewEdges * edgesStep ** 5

/** The start of a search, and the other vertices of few objects. */
export interface StartVertex extends ChosenVertex {
  readonly others: readonly ChosenVertex[]
}

/** Caches the access path and the estimated number of objects of each vertex for one search. */
export class VertexChoices {
  private readonly plan: PatternsPlan
  private readonly flow: MatchFlow
  private readonly chosen = new Map<number, ChosenAccessPath>()

  constructor(plan: PatternsPlan, flow: MatchFlow) {
    this.plan = plan
    this.flow = flow
  }

  of(position: number): Awaitable<ChosenAccessPath> {
    return this.chosen.get(position) ?? this.choose(position)
  }

  private async choose(position: number): Promise<ChosenAccessPath> {
    const { evaluation, context } = this.flow
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
    const chosen = await chooseAccess(
      (this.plan.vertices[position] as VertexPlan).objects,
      evaluation,
      context,
      undefined,
    )
    this.chosen.set(position, chosen)
    return chosen
  }
}

/** `unbound` are the positions of vertices without objects; `left` are the edges that are still to be followed. */
export async function startVertex(
  plan: PatternsPlan,
  unbound: readonly number[],
  left: ReadonlySet<EdgePlace>,
  choices: VertexChoices,
  flow: MatchFlow,
): Promise<StartVertex> {
  const sure = await surelyFew(plan, unbound, left, choices, flow)
  if (sure !== undefined) return { ...sure, others: [] }
  let best: ChosenVertex | undefined
  const rivals: ChosenVertex[] = []
  for (const position of unbound) {
    const { objects } = plan.vertices[position] as VertexPlan
    const choice = choices.of(position)
    const chosen = choice instanceof Promise ? await choice : choice
    const vertex = { position, chosen }
    // The search has no result.
    if (chosen.estimated === 0) return { ...vertex, others: [] }
    if (best === undefined || chosen.estimated < best.chosen.estimated) best = vertex
    if (chosen.access !== objects.extent && chosen.estimated <= comparedObjectsMax) rivals.push(vertex)
  }
  assert(best !== undefined, 'a pattern without edges left has a vertex left')
  const sorted = rivals.toSorted((one, other) => one.chosen.estimated - other.chosen.estimated)
  const isCompared = rivals.length > 1 && rivals.includes(best)
  const fewest = isCompared ? await unlessUnknown(undefined, () => fewestEdges(plan, sorted, left, flow)) : undefined
  const start = fewest ?? best
  return { ...start, others: rivals.filter((rival) => rival !== start) }
}

/** One object with few edges if a single edge is left: estimating the other end would cost more, notably in a correlated statement. */
async function surelyFew(
  plan: PatternsPlan,
  unbound: readonly number[],
  left: ReadonlySet<EdgePlace>,
  choices: VertexChoices,
  flow: MatchFlow,
): Promise<ChosenVertex | undefined> {
  const [place] = left
  if (place === undefined || left.size > 1) return undefined
  if ((plan.patterns[place.patternNumber] as BoundPattern).edges[place.edgeNumber]?.isVariable !== false)
    return undefined
  const ends = endsOf(plan, place)
  const isExact = (position: number): boolean => (plan.vertices[position] as VertexPlan).objects.exact !== undefined
  const exact = ends.filter((position) => unbound.includes(position) && isExact(position))
  // The other end may have fewer objects.
  if (exact.length !== 1) return undefined
  const vertex = { position: exact[0] as number, chosen: await choices.of(exact[0] as number) }
  return unlessUnknown(undefined, async () => {
    const sample = await sampleOf(plan, vertex, left, flow)
    return sample === undefined || (await edgesOf(sample, 1, fewEdges, flow)) < fewEdges ? vertex : undefined
  })
}

/** Returns the result of `evaluate`, or `otherwise` if EXPLAIN lacks the values that it needs. */
export async function unlessUnknown<T>(otherwise: T, evaluate: () => Promise<T>): Promise<T> {
  try {
    return await evaluate()
  } catch (error) {
    if (error !== unknownValue) throw error
    return otherwise
  }
}

/** The vertex with the fewest objects and edges of the first pattern; undefined if all have many. */
async function fewestEdges(
  plan: PatternsPlan,
  rivals: readonly ChosenVertex[],
  left: ReadonlySet<EdgePlace>,
  flow: MatchFlow,
): Promise<ChosenVertex | undefined> {
  const samples = new Map<ChosenVertex, EdgeSample | undefined>()
  for (let max = fewEdges; max <= comparedEdgesMax; max *= edgesStep) {
    let cheapest: ChosenVertex | undefined
    let least = max
    for (const rival of rivals) {
      const { estimated } = rival.chosen
      if (estimated >= least) continue
      if (!samples.has(rival)) samples.set(rival, await sampleOf(plan, rival, left, flow))
      const sample = samples.get(rival)
      const cost = estimated + (sample === undefined ? 0 : await edgesOf(sample, estimated, least - estimated, flow))
      if (cost < least) [least, cheapest] = [cost, rival]
    }
    if (cheapest !== undefined) return cheapest
  }
  return undefined
}

interface EdgeSample {
  readonly edges: IncidentEdges
  readonly views: readonly ObjectView[]
}

/** Undefined for a vertex without edges. */
async function sampleOf(
  plan: PatternsPlan,
  { position, chosen }: ChosenVertex,
  left: ReadonlySet<EdgePlace>,
  flow: MatchFlow,
): Promise<EdgeSample | undefined> {
  const place = [...left].find((one) => endsOf(plan, one).includes(position))
  if (place === undefined) return undefined
  const { objects } = plan.vertices[position] as VertexPlan
  const views: ObjectView[] = []
  for await (const batch of objectRows(objects, chosen, flow.evaluation, flow.context, sampledObjects).rows) {
    views.push(...batch.slice(0, sampledObjects - views.length))
    if (views.length >= sampledObjects) break
  }
  return { edges: new IncidentEdges(endsFrom(plan, place, position), flow), views }
}

/** An edge pattern as followed from the vertex at the position. */
export function endsFrom(plan: PatternsPlan, place: EdgePlace, position: number): EdgeEnds {
  const edge = (plan.patterns[place.patternNumber] as BoundPattern).edges[place.edgeNumber] as BoundEdge
  const [left, right] = endsOf(plan, place)
  const isRightward = left === position
  return { edge, to: plan.vertices[isRightward ? right : left] as VertexPlan, isRightward }
}

/** Extrapolates the edges of the sample to all objects; `max` if there would be more. */
async function edgesOf(sample: EdgeSample, objects: number, max: number, { context }: MatchFlow): Promise<number> {
  const { views } = sample
  const scale = views.length < sampledObjects ? 1 : Math.max(1, objects / views.length)
  const countedMax = Math.ceil(max / scale)
  let edges = 0
  for (const view of views) {
    edges += await sample.edges.count(view, countedMax - edges)
    if (edges >= countedMax) return max
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
  return edges * scale
}
