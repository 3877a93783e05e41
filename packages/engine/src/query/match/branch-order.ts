/** Chooses which of several edges at the first vertex of a search is followed first, by a sample of its objects. */
import { objectRows } from '../access/object-rows.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { EdgeEnds } from './edge-ends.ts'
import { IncidentEdges } from './incident-edges.ts'
import type { MatchFlow } from './match-operator.ts'
import { type EdgePlace, endsOf, type PatternsPlan } from './patterns-plan.ts'
import { type ChosenVertex, endsFrom, unlessUnknown } from './start-vertex.ts'
import { vertexObjects } from './vertex-objects.ts'
import type { VertexPlan } from './vertices.ts'

const sampledObjects = 16
/** Bounds the sample whether or not the objects qualify, because a longer scan could read all of them twice. */
const seenMax = 256
const sampledEdges = 16
/** With fewer edges, the order hardly matters. */
const fewEdges = 64
/** Objects with this many edges are not followed for the sample. */
const manyEdges = 256

/** The average number of objects behind each edge per object at the vertex; empty if it is not needed. */
export type EdgeYields = ReadonlyMap<EdgePlace, number>

const noFilter = { conjuncts: 0, recordPredicate: undefined, rest: undefined }

const unknown: EdgeYields = new Map()

export async function edgeYields(
  plan: PatternsPlan,
  start: ChosenVertex,
  left: ReadonlySet<EdgePlace>,
  flow: MatchFlow,
): Promise<EdgeYields> {
  const places = [...left].filter((place) => endsOf(plan, place).includes(start.position))
  // Which paths are selected may depend on the order in which they are found.
  const isPlain = plan.patterns.every(({ selection, edges }) => {
    return selection === undefined && edges.every(({ isVariable }) => !isVariable)
  })
  if (places.length < 2 || !isPlain) return unknown
  return unlessUnknown(unknown, async () => {
    const views = await sampleOf(plan, start, flow)
    const branches = places.map((place) => ({ place, ends: endsFrom(plan, place, start.position) }))
    let edges = 0
    for (const { ends } of branches) {
      const incident = new IncidentEdges(ends, flow)
      for (const view of views) edges += await incident.count(view, fewEdges)
    }
    // The estimated number of objects may have more edges than the sample.
    if (edges * Math.max(1, start.chosen.estimated / sampledObjects) <= fewEdges) return unknown
    const yields = new Map<EdgePlace, number>()
    for (const { place, ends } of branches) yields.set(place, await yieldOf(ends, views, flow))
    return yields
  })
}

async function sampleOf(
  plan: PatternsPlan,
  { position, chosen }: ChosenVertex,
  flow: MatchFlow,
): Promise<ObjectView[]> {
  const vertex = plan.vertices[position] as VertexPlan
  const unfiltered = { ...vertex.objects, filter: { ...vertex.objects.filter, ...noFilter } }
  const views: ObjectView[] = []
  let seen = 0
  for await (const batch of objectRows(unfiltered, chosen, flow.evaluation, flow.context, sampledObjects).rows) {
    for (let at = 0; at < batch.length && seen < seenMax && views.length < sampledObjects; at += sampledObjects) {
      const part = batch.slice(at, at + sampledObjects)
      seen += part.length
      views.push(
        ...(await vertexObjects(
          vertex,
          part.map(({ oid }) => oid),
          flow,
        )),
      )
    }
    if (seen >= seenMax || views.length >= sampledObjects) break
  }
  return views.slice(0, sampledObjects)
}

async function yieldOf(ends: EdgeEnds, views: readonly ObjectView[], flow: MatchFlow): Promise<number> {
  const { context } = flow
  const edges = new IncidentEdges(ends, flow)
  let [all, followed, matching] = [0, 0, 0]
  for (const view of views) {
    const count = await edges.count(view, manyEdges)
    all += count
    if (count === 0 || count >= manyEdges) continue
    const steps = (await edges.at(view, 0)).slice(0, sampledEdges)
    const oids = steps.map(({ neighbour }) => neighbour)
    followed += oids.length
    matching += (await vertexObjects(ends.to, oids, flow)).length
    context.entriesCounted += steps.length
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
  const share = followed === 0 ? 1 : matching / followed
  return all === 0 ? 1 : (all / views.length) * share
}
