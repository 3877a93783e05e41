/** If a search must end at a vertex with few objects, edges are also followed back from it, and forward steps that do not reach these are dropped. */
import type { Oid } from '../../types/oid.ts'
import { objectRows } from '../access/object-rows.ts'
import type { BoundPattern } from '../bind/bind-match.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { BackwardSearch, type ForwardEdges } from './backward-search.ts'
import { type BreadthFirst, Reached } from './breadth-first.ts'
import { type EdgeEnds, isFoundFromFarEnd, reversed } from './edge-ends.ts'
import type { FarSearch } from './expansion.ts'
import { countsStep, IncidentEdges, type Step } from './incident-edges.ts'
import type { MatchFlow } from './match-operator.ts'
import type { EdgePlace, PatternsPlan } from './patterns-plan.ts'
import type { ChosenVertex, StartVertex } from './start-vertex.ts'
import { vertexObjects } from './vertex-objects.ts'
import type { VertexPlan } from './vertices.ts'

/** An edge pattern between the two sides; `near` is the vertex from which the forward search reaches it. */
interface PatternToEnd {
  readonly ends: EdgeEnds
  readonly near: VertexPlan
}

const balance = { before: 256, countBatch: 256, countedPerEdge: 8, countsStep }

/** Whether the same edges of one pattern can be found from both ends at the same cost. */
function isFoundFromBothEnds({ ends }: PatternToEnd): boolean {
  const { isVariable, attributes } = ends.edge
  return !isVariable && attributes.every((reference) => reference.edge === undefined) && isFoundFromFarEnd(ends)
}

/** The position of an edge pattern on the way to the far side. */
export interface SearchPlace extends EdgePlace {
  readonly farSearch: FarSearch
  readonly isRightward: boolean
}

/** On each side of the start, the nearest vertex of few objects, if the edges between them need not be followed forward. */
export function farEndSearches(
  plan: PatternsPlan,
  patternNumbers: readonly number[],
  { position, others }: StartVertex,
  flow: MatchFlow,
): SearchPlace[] {
  const places: SearchPlace[] = []
  for (const patternNumber of others.length === 0 ? [] : patternNumbers) {
    const pattern = plan.patterns[patternNumber] as BoundPattern
    if (pattern.selection !== undefined) continue
    const at = pattern.vertices.indexOf(position)
    if (at < 0) continue
    for (const isRightward of [true, false]) {
      const found = nearestOther(plan, pattern, at, isRightward, others)
      if (found === undefined) continue
      const { edges, last, chosen } = found
      const search = new FarEndSearch(edges, last, chosen, flow)
      for (const place of edges.keys()) {
        const edgeNumber = isRightward ? at + place : at - 1 - place
        places.push({ patternNumber, edgeNumber, farSearch: { search, place, name: last.name }, isRightward })
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
  | { readonly edges: readonly PatternToEnd[]; readonly last: VertexPlan; readonly chosen: ChosenVertex['chosen'] }
  | undefined {
  const vertexAt = (i: number): VertexPlan => vertices[pattern.vertices[i] as number] as VertexPlan
  const step = isRightward ? 1 : -1
  const edges: PatternToEnd[] = []
  for (let i = at; ; i += step) {
    const edge = pattern.edges[isRightward ? i : i - 1]
    if (edge === undefined) return undefined
    const next: PatternToEnd = { ends: { edge, to: vertexAt(i + step), isRightward }, near: vertexAt(i) }
    // The first pattern is followed from its near end anyway; each step of a walk would be treated as its last.
    if (edges.length === 0 ? edge.isVariable : !isFoundFromBothEnds(next)) return undefined
    edges.push(next)
    const other = others.find((one) => one.position === pattern.vertices[i + step])
    if (other !== undefined && edges.length > 1) return { edges, last: vertexAt(i + step), chosen: other.chosen }
  }
}

/** A place of the search is the number of an edge pattern. */
class FarEndSearch extends BackwardSearch {
  protected edges: IncidentEdges
  private readonly patterns: readonly PatternToEnd[]
  private readonly last: VertexPlan
  private readonly chosen: ChosenVertex['chosen']
  /** The vertex to which edges are currently followed back. */
  private near: VertexPlan
  /** By number of the edge pattern, the one-level search that found its edges; undefined while they are incomplete. */
  private readonly completed: (BreadthFirst | undefined)[] = []

  /** `patterns` lead from the near side to the far one, at least two; `last` is the far end of the last one. */
  constructor(patterns: readonly PatternToEnd[], last: VertexPlan, chosen: ChosenVertex['chosen'], flow: MatchFlow) {
    super(flow, balance)
    this.patterns = patterns
    this.last = last
    this.chosen = chosen
    this.near = last
    this.edges = this.edgesBack(patterns.length - 1)
  }

  override isExplored(number: number): boolean {
    return this.completed[number] !== undefined
  }

  override exploredSteps(number: number, view: ObjectView): Step[] | undefined {
    const { edge } = (this.patterns[number] as PatternToEnd).ends
    const completed = this.completed[number]
    return completed && this.stepsFrom(completed.visited.get(view.oid), view, edge)
  }

  override mayArrive(oid: Oid, number: number): boolean {
    const next = this.completed[number + 1]
    return next === undefined || next.visited.get(oid)?.hasPredecessor === true
  }

  protected override narrowed(number: number, view: ObjectView, steps: readonly Step[]): readonly Step[] {
    return this.exploredSteps(number, view) ?? super.narrowed(number, view, steps)
  }

  protected override async advanceBefore(number: number, view: ObjectView, forward: ForwardEdges): Promise<number> {
    // The first edges are followed forward anyway.
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
      this.completed[number] = search
      this.near = (this.patterns[number] as PatternToEnd).near
      frontier = search.read(search.reached)
      this.nextSearch()
    }
  }

  protected override objects(oids: readonly Oid[]): Promise<readonly ObjectView[]> {
    return vertexObjects(this.near, oids, this.flow)
  }

  private edgesBack(number: number): IncidentEdges {
    const { ends, near } = this.patterns[number] as PatternToEnd
    return new IncidentEdges(reversed(ends, near), this.flow)
  }

  private async *ends(): AsyncGenerator<readonly Reached[]> {
    const { evaluation, context } = this.flow
    for await (const views of objectRows(this.last.objects, this.chosen, evaluation, context, undefined).rows)
      yield views.map((view) => new Reached(view.oid, 0, view))
  }
}
