/**
 * The far side of a pattern: if a search starts at one vertex and must end at another one with few objects, the edges between them are also followed back
 * from that end, and kept by the objects to which they lead. Steps of the forward search that do not meet these edges are dropped.
 */
import type { Oid } from '../../types/oid.ts'
import { objectRows } from '../access/object-rows.ts'
import type { BoundPattern } from '../bind/bind-match.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { BackwardSearch, type ForwardEdges } from './backward-search.ts'
import { type BreadthFirst, Reached } from './breadth-first.ts'
import { type EdgeEnds, isFoundFromFarEnd, turned } from './edge-ends.ts'
import type { FarSearch } from './expansion.ts'
import { countsStep, IncidentEdges, type Step } from './incident-edges.ts'
import type { MatchFlow } from './match-operator.ts'
import type { EdgePlace, PatternsPlan } from './patterns-plan.ts'
import type { ChosenVertex, StartVertex } from './start-vertex.ts'
import { vertexObjects } from './vertex-objects.ts'
import type { VertexPlan } from './vertices.ts'

/** An edge pattern between the two sides: `near` is the vertex from which the search comes to it. */
interface FarEdge {
  readonly ends: EdgeEnds
  readonly near: VertexPlan
}

const balance = { before: 256, countedAtOnce: 256, countedPerEdge: 8, countsStep }

/** True where the edges of one pattern can be found from both of its ends at the same cost, and are the same. */
function isFoundFromBothEnds({ ends }: FarEdge): boolean {
  const { isVariable, attributes } = ends.edge
  return !isVariable && attributes.every((reference) => reference.edge === undefined) && isFoundFromFarEnd(ends)
}

/** An edge pattern of a search whose far side is known, by its place. */
export interface FarPlace extends EdgePlace {
  readonly far: FarSearch
  readonly isRightward: boolean
}

/** On both sides of the vertex at which the search begins: the nearest of the others, where there are edges between them that it does not have to follow. */
export function farSides(
  plan: PatternsPlan,
  patternNumbers: readonly number[],
  { position, others }: StartVertex,
  flow: MatchFlow,
): FarPlace[] {
  const places: FarPlace[] = []
  for (const patternNumber of others.length === 0 ? [] : patternNumbers) {
    const pattern = plan.patterns[patternNumber] as BoundPattern
    if (pattern.selection !== undefined) continue
    const at = pattern.vertices.indexOf(position)
    if (at < 0) continue
    for (const isRightward of [true, false]) {
      const found = nearestOther(plan, pattern, at, isRightward, others)
      if (found === undefined) continue
      const { edges, last, chosen } = found
      const search = new FarSide(edges, last, chosen, flow)
      for (const place of edges.keys()) {
        const edgeNumber = isRightward ? at + place : at - 1 - place
        places.push({ patternNumber, edgeNumber, far: { search, place, name: last.name }, isRightward })
      }
    }
  }
  return places
}

function nearestOther(
  { vertices }: PatternsPlan,
  pattern: BoundPattern,
  at: number,
  isRightward: boolean,
  others: readonly ChosenVertex[],
):
  | { readonly edges: readonly FarEdge[]; readonly last: VertexPlan; readonly chosen: ChosenVertex['chosen'] }
  | undefined {
  const vertexAt = (i: number): VertexPlan => vertices[pattern.vertices[i] as number] as VertexPlan
  const step = isRightward ? 1 : -1
  const edges: FarEdge[] = []
  for (let i = at; ; i += step) {
    const edge = pattern.edges[isRightward ? i : i - 1]
    if (edge === undefined) return undefined
    const far: FarEdge = { ends: { edge, to: vertexAt(i + step), isRightward }, near: vertexAt(i) }
    // The first one is followed from its near end in any case; of a walk, each step would be taken for the last.
    if (edges.length === 0 ? edge.isVariable : !isFoundFromBothEnds(far)) return undefined
    edges.push(far)
    const other = others.find((one) => one.position === pattern.vertices[i + step])
    if (other !== undefined && edges.length > 1) return { edges, last: vertexAt(i + step), chosen: other.chosen }
  }
}

/** Of one run. A place is the number of an edge pattern. */
class FarSide extends BackwardSearch {
  protected edges: IncidentEdges
  private readonly patterns: readonly FarEdge[]
  private readonly last: VertexPlan
  private readonly chosen: ChosenVertex['chosen']
  /** The vertex to which edges are followed back now. */
  private near: VertexPlan
  /** By the number of the edge pattern: the search of one level that has found its edges; undefined as long as not all are known. */
  private readonly known: (BreadthFirst | undefined)[] = []

  /** `patterns`: from the near side to the far one, at least two; `last`: the far end of the last one. */
  constructor(patterns: readonly FarEdge[], last: VertexPlan, chosen: ChosenVertex['chosen'], flow: MatchFlow) {
    super(flow, balance)
    this.patterns = patterns
    this.last = last
    this.chosen = chosen
    this.near = last
    this.edges = this.edgesBack(patterns.length - 1)
  }

  override isKnown(number: number): boolean {
    return this.known[number] !== undefined
  }

  override knownSteps(number: number, view: ObjectView): Step[] | undefined {
    const { edge } = (this.patterns[number] as FarEdge).ends
    const known = this.known[number]
    return known && this.stepsFrom(known.visited.get(view.oid), view, edge)
  }

  override mayArrive(oid: Oid, number: number): boolean {
    const next = this.known[number + 1]
    return next === undefined || next.visited.get(oid)?.hasPredecessor === true
  }

  protected override narrowed(number: number, view: ObjectView, steps: readonly Step[]): readonly Step[] {
    return this.knownSteps(number, view) ?? super.narrowed(number, view, steps)
  }

  protected override async advanceBefore(number: number, view: ObjectView, forward: ForwardEdges): Promise<number> {
    // The first edges are followed forward in any case.
    return number === 0 ? 0 : super.advanceBefore(number, view, forward)
  }

  protected override async *run(): AsyncGenerator<number> {
    let frontier = this.ends()
    for (let number = this.patterns.length - 1; number > 0; number--) {
      const { search } = this
      this.edges = this.edgesBack(number)
      if (!(yield* search.expand(frontier))) {
        this.forget()
        return
      }
      this.known[number] = search
      this.near = (this.patterns[number] as FarEdge).near
      frontier = search.read(search.reached)
      this.nextSearch()
    }
  }

  protected override objects(oids: readonly Oid[]): Promise<readonly ObjectView[]> {
    return vertexObjects(this.near, oids, this.flow)
  }

  private edgesBack(number: number): IncidentEdges {
    const { ends, near } = this.patterns[number] as FarEdge
    return new IncidentEdges(turned(ends, near), this.flow)
  }

  private async *ends(): AsyncGenerator<readonly Reached[]> {
    const { evaluation, context } = this.flow
    for await (const views of objectRows(this.last.objects, this.chosen, evaluation, context, undefined).rows)
      yield views.map((view) => new Reached(view.oid, 0, view))
  }
}
