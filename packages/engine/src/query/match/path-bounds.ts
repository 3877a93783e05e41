/** Bounds the walks of one edge pattern: a search back from their possible ends prunes steps from which no end is within the remaining length. */
import type { Oid } from '../../types/oid.ts'
import { objectRows } from '../access/object-rows.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { BackwardSearch, type ForwardEdges } from './backward-search.ts'
import { type EdgeEnds, isFoundFromFarEnd, reversed } from './edge-ends.ts'
import type { EdgeStep } from './expansion.ts'
import { IncidentEdges, type Step } from './incident-edges.ts'
import type { MatchFlow } from './match-operator.ts'
import type { MatchRow } from './match-row.ts'
import { existingObjects } from './vertex-objects.ts'

/** Cached searches by end, because later rows may have the same end. */
const cachedEndsMax = 16
/** Cost in edges of the round trips to the end and to its edges. */
const tripEdges = 2

const balance = { before: 0, countBatch: 64, countedPerEdge: 1, countsStep: 2 }

/** Whether walks of several edges can be bounded from the end that they have or may have. */
export function isBounded(step: EdgeStep): boolean {
  const { edge, isToBound, ends } = step
  return edge.max > 1 && (isToBound || ends !== undefined) && isFoundFromFarEnd(step)
}

/** For EXPLAIN: the vertex that walks must be able to reach. */
export function boundDetails(step: EdgeStep): Readonly<Record<string, unknown>> {
  return isBounded(step) ? { boundedFrom: step.to.name ?? null } : {}
}

export class PathBounds {
  private readonly step: EdgeStep
  private readonly flow: MatchFlow
  private readonly ends: EdgeEnds
  private readonly edges: IncidentEdges
  private readonly byEnd = new Map<Oid, ReverseDistances>()
  private sharedDistances: ReverseDistances | undefined

  constructor(step: EdgeStep, flow: MatchFlow) {
    this.step = step
    this.flow = flow
    this.ends = reversed(step, step.from)
    this.edges = new IncidentEdges(this.ends, flow)
  }

  /** The distances for the walks of the row. */
  async of(row: MatchRow): Promise<ReverseDistances> {
    const { isToBound, to, ends } = this.step
    if (!isToBound && ends !== undefined) {
      const { evaluation, context } = this.flow
      this.sharedDistances ??= this.distancesTo(objectRows(to.objects, ends, evaluation, context, undefined).rows)
      return this.sharedDistances
    }
    const end = row.slots[to.slot] as ObjectView
    const cached = this.byEnd.get(end.oid)
    if (cached !== undefined) return cached
    for (const [oid, distances] of this.byEnd) {
      if (this.byEnd.size < cachedEndsMax) break
      this.byEnd.delete(oid)
      await distances.close()
    }
    const distances = this.distancesTo([[end]])
    this.byEnd.set(end.oid, distances)
    return distances
  }

  async close(): Promise<void> {
    for (const distances of this.byEnd.values()) await distances.close()
    await this.sharedDistances?.close()
  }

  private distancesTo(ends: Ends): ReverseDistances {
    return new ReverseDistances(ends, this.edges, this.ends, this.flow)
  }
}

type Ends = AsyncIterable<readonly ObjectView[]> | Iterable<readonly ObjectView[]>

/** A place is the number of edges left to a walk after the next one. */
export class ReverseDistances extends BackwardSearch {
  protected readonly edges: IncidentEdges
  private readonly ends: Ends
  private readonly edge: EdgeEnds['edge']
  /** All objects within this distance of an end are known, and all edges to those within a smaller one. */
  private exploredDistance = -1

  constructor(ends: Ends, edges: IncidentEdges, { edge }: EdgeEnds, flow: MatchFlow) {
    super(flow, balance)
    this.ends = ends
    this.edges = edges
    this.edge = edge
  }

  override isExplored(edgesLeft: number): boolean {
    return this.exploredDistance > edgesLeft
  }

  override exploredSteps(edgesLeft: number, view: ObjectView): Step[] | undefined {
    if (!this.isExplored(edgesLeft)) return undefined
    const reached = this.search.visited.get(view.oid)
    return this.stepsFrom(reached, view, this.edge, ({ distance }) => distance <= edgesLeft)
  }

  override mayArrive(oid: Oid, edgesLeft: number): boolean {
    const distance = this.search.visited.get(oid)?.distance
    return distance === undefined ? this.exploredDistance < edgesLeft : distance <= edgesLeft
  }

  override async close(): Promise<void> {
    await super.close()
    this.forget()
  }

  protected override async advanceBefore(place: number, view: ObjectView, forward: ForwardEdges): Promise<number> {
    // Proving that nothing leads to an end costs a round trip, too.
    if (this.flow.context.isRemote && place === this.edge.max - 1) await this.advance(tripEdges, forward.operator)
    return super.advanceBefore(place, view, forward)
  }

  protected override async *run(): AsyncGenerator<number> {
    const { search, edge } = this
    for await (const views of this.ends) {
      for (const { oid } of views) search.begin(oid)
      yield views.length
    }
    this.exploredDistance = 0
    while (search.distance < edge.max && search.reached.length > 0) {
      if (!(yield* search.expand(search.read(search.reached)))) return
      this.exploredDistance = search.distance
    }
    if (search.reached.length === 0) this.exploredDistance = Number.POSITIVE_INFINITY
  }

  protected override objects(oids: readonly Oid[]): Promise<readonly ObjectView[]> {
    return existingObjects(oids, this.flow.context)
  }

  protected override forget(): void {
    super.forget()
    this.exploredDistance = -1
  }
}
