/**
 * Bidirectional search. If a search starts at one vertex and must end at another one with few objects, the edges
 * between them are also followed back from that end, and kept in memory by the objects to which they lead. Steps of the
 * search that do not meet these edges are dropped. The far side may do as much work as the search has done so far, so
 * the total never costs much more than the cheaper side.
 */
import { SteadyMap } from '../../budget/steady-map.ts'
import { farSideEdgesMax } from '../../limits.ts'
import type { Awaitable } from '../../store/store.ts'
import type { Oid } from '../../types/oid.ts'
import { objectRows } from '../access/object-rows.ts'
import type { BoundPattern } from '../bind/bind-match.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import {
  countedInSteps,
  countsStep,
  directionOf,
  type EdgeCounter,
  type EdgeEnds,
  edgeCounter,
  edgesAt,
  isFoundFromFarEnd,
  neighboursOf,
  seenFrom,
} from './edge-ends.ts'
import { EqualShare } from './equal-share.ts'
import type { MatchFlow } from './match-operator.ts'
import type { Step } from './neighbours.ts'
import type { EdgePlace, PatternsPlan } from './patterns-plan.ts'
import type { ChosenVertex, StartVertex } from './start-vertex.ts'
import { vertexObjects } from './vertex-objects.ts'
import type { VertexPlan } from './vertices.ts'

/** An edge pattern between the two sides: `near` is the vertex from which the search comes to it. */
interface FarEdge {
  readonly ends: EdgeEnds
  readonly near: VertexPlan
}

type FoundEdges = SteadyMap<Oid, Step[]>

/** What the near side finds at an object by itself. */
export interface NearEdges {
  follow(): Awaitable<Step[]>
  /** Undefined where to count them takes a trip, as to follow them does. */
  readonly counter: EdgeCounter | undefined
}

/** So many edges of an object are counted before the far side has its turn. */
const countedAtOnce = 64
/** So many are counted in the time in which one is followed to its object. */
const countedPerEdge = 8
/** So many edges are followed before the other side has a turn. */
const edgesBefore = 256
const objectsAtOnce = 256
/** About what an edge takes. */
const edgeBytes = 250
const onlyEdge = { isFirst: true, mayBeLast: true, mustBeLast: true }

/** True where the edges of one pattern can be found from both of its ends at the same cost, and are the same. */
function isFoundFromBothEnds({ ends }: FarEdge): boolean {
  const { isVariable, attributes } = ends.edge
  return !isVariable && attributes.every((reference) => reference.edge === undefined) && isFoundFromFarEnd(ends)
}

/** An edge pattern of a search whose far side is known, by its place. */
export interface FarPlace extends EdgePlace {
  readonly side: FarSide
  /** Among the edges of the side. */
  readonly number: number
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
      const side = new FarSide(found.edges, found.last, found.chosen, flow)
      for (const number of found.edges.keys()) {
        const edgeNumber = isRightward ? at + number : at - 1 - number
        places.push({ patternNumber, edgeNumber, side, number, isRightward })
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

/** Of one run. */
export class FarSide {
  /** Of the vertex from which it comes. */
  readonly name: string | undefined
  readonly edges: readonly FarEdge[]
  private readonly flow: MatchFlow
  /** By the number of the edge: its edges by the object at the near end; undefined as long as not all are known. */
  private readonly known: (FoundEdges | undefined)[] = []
  private readonly share: EqualShare
  private edgesKept = 0
  /** Of the edge pattern that is being followed. */
  private bytes = 0

  /** `edges`: from the near side to the far one, at least two; `last`: the far end of the last one. */
  constructor(edges: readonly FarEdge[], last: VertexPlan, chosen: ChosenVertex['chosen'], flow: MatchFlow) {
    this.edges = edges
    this.name = last.name
    this.flow = flow
    this.share = new EqualShare(this.followed(last, chosen), edgesBefore, () => this.forget())
  }

  isKnown(number: number): boolean {
    return this.known[number] !== undefined
  }

  /** The edges at the object that can lead to the far end; undefined where these are not known yet. */
  knownSteps(number: number, view: ObjectView): readonly Step[] | undefined {
    const { edge } = (this.edges[number] as FarEdge).ends
    const known = this.known[number]
    return known && seenFrom(view, known.get(view.oid) ?? [], edge)
  }

  /** The same, where they are known; else `near` finds all that there are. `operator`: counts. */
  async stepsOf(number: number, view: ObjectView, near: NearEdges, operator: ExplainNode): Promise<readonly Step[]> {
    const known = this.knownSteps(number, view)
    if (known !== undefined) return known
    const counted = await this.advanceBefore(number, view, near.counter, operator)
    const foundBefore = this.knownSteps(number, view)
    if (foundBefore !== undefined) return foundBefore
    const steps = await near.follow()
    operator.examined += await this.share.advance(Math.max(0, steps.length - counted))
    const foundMeanwhile = this.knownSteps(number, view)
    if (foundMeanwhile !== undefined) return foundMeanwhile
    const next = this.known[number + 1]
    return next === undefined ? steps : steps.filter(({ neighbour }) => (next.get(neighbour)?.length ?? 0) > 0)
  }

  /**
   * To count the edges of an object costs little beside following them, each to an object: so the far side has its turn before that, and may come to
   * know them meanwhile. Returns how many it was told of.
   */
  private async advanceBefore(
    number: number,
    view: ObjectView,
    counter: EdgeCounter | undefined,
    operator: ExplainNode,
  ): Promise<number> {
    // The first edges are followed from here in any case.
    if (counter === undefined || number === 0) return 0
    let counted = 0
    for (let max = countedAtOnce; !this.share.isOver && !this.isKnown(number); max *= countsStep) {
      const count = await counter(view, max)
      operator.examined += await this.share.advance(count - counted)
      counted = count
      if (count < max || count > farSideEdgesMax) break
    }
    return counted
  }

  /** When no more rows are taken. May be called again. */
  close(): Promise<void> {
    return this.share.close()
  }

  /** Yields what each of its pieces has cost, as a number of edges. */
  private async *followed(last: VertexPlan, chosen: ChosenVertex['chosen']): AsyncGenerator<number> {
    const { evaluation, context } = this.flow
    let objects: AsyncIterable<readonly ObjectView[]> = objectRows(
      last.objects,
      chosen,
      evaluation,
      context,
      undefined,
    ).rows
    for (let number = this.edges.length - 1; number > 0; number--) {
      const { ends, near } = this.edges[number] as FarEdge
      const back = { edge: ends.edge, to: near, isRightward: !ends.isRightward }
      const [neighbours, direction] = [neighboursOf(back, this.flow), directionOf(back)]
      const counter = edgeCounter(back, this.flow)
      const found: FoundEdges = new SteadyMap()
      const reached: Oid[] = []
      for await (const views of objects) {
        for (const view of views) {
          const count = yield* countedInSteps(counter, view, edgesBefore, countedPerEdge)
          if (!this.mayKeep(count)) return
          const steps = await edgesAt(neighbours, direction, view, onlyEdge)
          for (const { edge, neighbour } of steps) {
            const step: Step = { edge, neighbour: view.oid, place: undefined }
            const others = found.get(neighbour)
            if (others !== undefined) others.push(step)
            else {
              found.set(neighbour, [step])
              reached.push(neighbour)
            }
          }
          yield steps.length + 1
          const pause = context.yieldIfDue()
          if (pause !== undefined) await pause
        }
      }
      this.known[number] = found
      this.bytes = 0
      objects = this.qualifiedAt(near, found, reached)
    }
  }

  /** The objects of the vertex among those that were come to; the others are taken out. */
  private async *qualifiedAt(
    vertex: VertexPlan,
    found: FoundEdges,
    reached: readonly Oid[],
  ): AsyncGenerator<readonly ObjectView[]> {
    for (let at = 0; at < reached.length; at += objectsAtOnce) {
      const part = reached.slice(at, at + objectsAtOnce)
      const left = await vertexObjects(vertex, part, this.flow)
      const isLeft = new Set(left.map(({ oid }) => oid))
      for (const oid of part) if (!isLeft.has(oid)) found.set(oid, [])
      yield left
    }
  }

  /** Throws LimitExceeded and ServerBusy. */
  private mayKeep(edges: number): boolean {
    this.edgesKept += edges
    const bytes = edges * edgeBytes
    this.bytes += bytes
    this.flow.context.hold(0, bytes)
    if (this.edgesKept <= farSideEdgesMax) return true
    this.forget()
    return false
  }

  /** The edges of a pattern of which not all are known. */
  private forget(): void {
    this.flow.context.hold(0, -this.bytes)
    this.bytes = 0
  }
}
