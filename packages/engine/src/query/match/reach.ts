/**
 * What can still reach the far ends of walks. The edges of the pattern are followed back from these ends, breadth first,
 * as far as a walk may be long; so it is known of an object by how many edges at least it reaches an end, and by which. The search
 * from the near end takes no step to an object from which the edges left to the walk do not suffice.
 */
import { SteadyMap } from '../../budget/steady-map.ts'
import { farSideEdgesMax } from '../../limits.ts'
import type { Oid } from '../../types/oid.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import {
  countedInSteps,
  directionOf,
  type EdgeCounter,
  type EdgeEnds,
  edgeCounter,
  edgesAt,
  neighboursOf,
  seenFrom,
} from './edge-ends.ts'
import { EqualShare } from './equal-share.ts'
import type { MatchFlow } from './match-operator.ts'
import type { Direction, Neighbours, Step } from './neighbours.ts'

/** Objects that are read at once. */
const objectsAtOnce = 256
/** So many edges of an object are counted before the other side has its turn. */
export const countedAtOnce = 64
/** About what an object takes, and an edge. */
const objectBytes = 150
const edgeBytes = 250

/** How edges are followed back, the same for all ends of a pattern. */
export interface WayBack {
  readonly ends: EdgeEnds
  readonly neighbours: Neighbours
  readonly direction: Direction
  readonly counter: EdgeCounter
  /** Of the edges of a walk. */
  readonly max: number
  readonly flow: MatchFlow
}

/** `ends`: as seen from the far end. */
export function wayBackOf(ends: EdgeEnds, flow: MatchFlow): WayBack {
  const [neighbours, counter] = [neighboursOf(ends, flow), edgeCounter(ends, flow)]
  return { ends, neighbours, direction: directionOf(ends), counter, max: ends.edge.max, flow }
}

export class Reach {
  private readonly way: WayBack
  private readonly share: EqualShare
  /** By how many edges an object reaches an end at least. */
  private distances = new SteadyMap<Oid, number>()
  /** By which edges: to objects of greater distance behind others. */
  private steps = new SteadyMap<Oid, Step[]>()
  /** All objects that reach an end by so many edges are known, and all edges to those that do so by fewer. */
  private known = -1
  private edgesKept = 0
  private bytes = 0

  /** `far`: the objects at which walks may end. */
  constructor(way: WayBack, far: AsyncIterable<readonly ObjectView[]>) {
    this.way = way
    this.share = new EqualShare(this.followed(far), 0, () => this.forget())
  }

  /** False where no walk of so many edges or fewer leads from the object to an end. */
  mayArrive(oid: Oid, edgesLeft: number): boolean {
    const distance = this.distances.get(oid)
    return distance === undefined ? this.known < edgesLeft : distance <= edgesLeft
  }

  /** Whether `stepsFrom` tells the edges. */
  isKnown(edgesLeft: number): boolean {
    return this.known > edgesLeft
  }

  /** The edges at the object behind which an end is reached by so many edges or fewer; undefined as long as not all are known. */
  stepsFrom(view: ObjectView, edgesLeft: number): Step[] | undefined {
    if (!this.isKnown(edgesLeft)) return undefined
    const steps = this.steps.get(view.oid) ?? []
    const near = steps.filter(({ neighbour }) => (this.distances.get(neighbour) ?? 0) <= edgesLeft)
    return seenFrom(view, near, this.way.ends.edge)
  }

  /** Goes on after so many edges that were followed, or would have to be, from the near end. Returns how many it has followed. */
  advance(edges: number): Promise<number> {
    return this.share.advance(edges)
  }

  /** It will not come to know more. */
  get isOver(): boolean {
    return this.share.isOver
  }

  /** Lets go of what it holds. */
  async close(): Promise<void> {
    await this.share.close()
    this.forget()
  }

  /** Yields what each of its pieces has cost, as a number of edges. */
  private async *followed(far: AsyncIterable<readonly ObjectView[]>): AsyncGenerator<number> {
    const { neighbours, direction, counter, max, flow } = this.way
    const { context } = flow
    let level: Oid[] = []
    for await (const views of far) {
      for (const { oid } of views) this.meet(oid, 0, level)
      yield views.length
    }
    this.known = 0
    for (let distance = 0; distance < max && level.length > 0; distance++) {
      const place = { isFirst: distance === 0, mayBeLast: true, mustBeLast: distance + 1 >= max }
      const next: Oid[] = []
      for (let at = 0; at < level.length; at += objectsAtOnce) {
        const part = level.slice(at, at + objectsAtOnce)
        const views = await evaluateRows(context, part, (oid) => context.reader.object(oid))
        for (const view of views) {
          // Nobody comes by an object that is not there.
          if (view.format === undefined) continue
          const count = yield* countedInSteps(counter, view, countedAtOnce, 1)
          if (!this.mayKeep(count)) return
          const steps = await edgesAt(neighbours, direction, view, place)
          for (const step of steps) this.keep(step, view.oid, distance + 1, next)
          yield steps.length + 1
          const pause = context.yieldIfDue()
          if (pause !== undefined) await pause
        }
      }
      this.known = distance + 1
      level = next
    }
    if (level.length === 0) this.known = Number.POSITIVE_INFINITY
  }

  private meet(oid: Oid, distance: number, level: Oid[]): void {
    if (this.distances.has(oid)) return
    this.charge(objectBytes)
    this.distances.set(oid, distance)
    level.push(oid)
  }

  private keep({ edge, neighbour }: Step, from: Oid, distance: number, level: Oid[]): void {
    this.meet(neighbour, distance, level)
    const step: Step = { edge, neighbour: from, place: undefined }
    const others = this.steps.get(neighbour)
    if (others === undefined) this.steps.set(neighbour, [step])
    else others.push(step)
  }

  /** Throws LimitExceeded and ServerBusy. */
  private mayKeep(edges: number): boolean {
    this.edgesKept += edges
    if (this.edgesKept > farSideEdgesMax) return false
    this.charge(edges * edgeBytes)
    return true
  }

  private charge(bytes: number): void {
    this.bytes += bytes
    this.way.flow.context.hold(0, bytes)
  }

  /** All that it knows of single objects: there is no memory for it. */
  private forget(): void {
    this.way.flow.context.hold(0, -this.bytes)
    this.bytes = 0
    this.known = -1
    this.distances = new SteadyMap()
    this.steps = new SteadyMap()
  }
}
