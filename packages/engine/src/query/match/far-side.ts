/**
 * Bidirectional search. If a search starts at one vertex and must end at another one with few objects, the edges
 * between them are also followed back from that end, and kept in memory by the objects to which they lead. Steps of the
 * search that do not meet these edges are dropped. The far side may do as much work as the search has done so far, so
 * the total never costs much more than the cheaper side.
 */
import { SteadyMap } from '../../budget/steady-map.ts'
import { AshlarError } from '../../errors.ts'
import { farSideEdgesMax } from '../../limits.ts'
import type { Oid } from '../../types/oid.ts'
import { objectRows } from '../access/object-rows.ts'
import type { BoundPattern } from '../bind/bind-match.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import type { Edge } from '../values/edge.ts'
import { directionOf, type EdgeCounter, type EdgeEnds, edgeCounter, edgesAt, neighboursOf } from './edge-ends.ts'
import type { MatchFlow } from './match-operator.ts'
import { isFollowedBack, type Step } from './neighbours.ts'
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

/** So many edges are followed before the other side has a turn. */
const edgesBefore = 256
/** Those of an object are counted before they are followed, up to bounds that grow by steps: at a hub the search may get ahead meanwhile. */
const edgesStep = 4
const objectsAtOnce = 256
/** About what an edge takes. */
const edgeBytes = 250
const onlyEdge = { isFirst: true, mayBeLast: true, mustBeLast: true }

/** True where the edges of one pattern can be found from both of its ends at the same cost, and are the same. */
function isFoundFromBothEnds({ ends: { edge, ...to } }: FarEdge): boolean {
  if (edge.isVariable || edge.edgeObject !== undefined) return false
  if (edge.attributes.some((reference) => reference.edge !== undefined)) return false
  const back = directionOf({ edge, to: to.to, isRightward: !to.isRightward })
  return back === 'forward' || edge.attributes.every(isFollowedBack)
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
  private readonly work: AsyncGenerator<number>
  private spent = 0
  private cost = 0
  private edgesKept = 0
  /** Of the edge pattern that is being followed. */
  private bytes = 0
  private isAtEnd = false

  /** `edges`: from the near side to the far one, at least two; `last`: the far end of the last one. */
  constructor(edges: readonly FarEdge[], last: VertexPlan, chosen: ChosenVertex['chosen'], flow: MatchFlow) {
    this.edges = edges
    this.name = last.name
    this.flow = flow
    this.work = this.followed(last, chosen)
  }

  isKnown(number: number): boolean {
    return this.known[number] !== undefined
  }

  /** The edges at the object that can lead to the far end, where that is known; `follow` finds all that there are. `operator`: counts. */
  async stepsOf(
    number: number,
    view: ObjectView,
    follow: () => Promise<Step[]>,
    operator: ExplainNode,
  ): Promise<readonly Step[]> {
    const known = this.known[number]
    if (known !== undefined) return seenFrom(view, known.get(view.oid) ?? [])
    const steps = await follow()
    this.spent += steps.length
    const before = this.cost
    await this.advance()
    operator.examined += this.cost - before
    const foundMeanwhile = this.known[number]
    if (foundMeanwhile !== undefined) return seenFrom(view, foundMeanwhile.get(view.oid) ?? [])
    const next = this.known[number + 1]
    return next === undefined ? steps : steps.filter(({ neighbour }) => (next.get(neighbour)?.length ?? 0) > 0)
  }

  /** Up to what the search has spent. */
  private async advance(): Promise<void> {
    if (this.spent < edgesBefore) return
    try {
      while (!this.isAtEnd && this.cost < this.spent) {
        const { done, value } = await this.work.next()
        if (done === true) this.isAtEnd = true
        else this.cost += value
      }
    } catch (error) {
      // The search goes on without what there is no memory for.
      if (!(error instanceof AshlarError) || (error.type !== 'LimitExceeded' && error.type !== 'ServerBusy'))
        throw error
      this.isAtEnd = true
      this.forget()
    }
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
          const count = yield* countedInSteps(counter, view)
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

/** How many edges there are at the object, where there are not too many to be kept; yields what it costs to count more than a few. */
async function* countedInSteps(counter: EdgeCounter, view: ObjectView): AsyncGenerator<number, number> {
  for (let max = edgesBefore; ; max = Math.min(max * edgesStep, farSideEdgesMax + 1)) {
    const count = await counter(view, max)
    if (count < max || max > farSideEdgesMax) return count
    yield count
  }
}

/** As the object sees the edges that were found from their other ends. */
function seenFrom({ format }: ObjectView, steps: readonly Step[]): Step[] {
  const name = format?.cls.name ?? ''
  return steps.map(({ edge, neighbour, place }) => {
    // It was followed back, from the object that it refers to.
    const isOwn = edge.fromClass === ''
    const seen: Edge = isOwn ? { ...edge, fromClass: name, toClass: '' } : { ...edge, fromClass: '', toClass: name }
    return { edge: seen, neighbour, place }
  })
}
