/** Breadth-first search, shared by all path searches. A visitor finds the edges, says which are retained, and may limit the cost. */
import type { ClassFormat } from '../../records/class-format.ts'
import type { Awaitable } from '../../store/store.ts'
import type { Oid } from '../../types/oid.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { Edge } from '../values/edge.ts'
import type { Step } from './incident-edges.ts'

export interface Predecessor {
  readonly before: Reached
  readonly edge: Edge
}

/** A reached object with its distance from the start and its predecessors. */
export class Reached {
  readonly oid: Oid
  readonly distance: number
  /** Set from the read until the expansion; afterwards the class is enough. */
  view: ObjectView | undefined
  /** Set if the object was read and exists. */
  format: ClassFormat | undefined
  private before: Reached | undefined
  private edge: Edge | undefined
  /** Undefined for most objects, which have one predecessor. */
  private others: Predecessor[] | undefined

  constructor(oid: Oid, distance: number, view?: ObjectView) {
    this.oid = oid
    this.distance = distance
    this.view = view
    this.format = view?.format
  }

  get hasPredecessor(): boolean {
    return this.edge !== undefined
  }

  add(before: Reached, edge: Edge): void {
    if (this.edge === undefined) {
      this.before = before
      this.edge = edge
    } else {
      this.others ??= []
      this.others.push({ before, edge })
    }
  }

  removePredecessors(): void {
    this.before = undefined
    this.edge = undefined
    this.others = undefined
  }

  *predecessors(): Generator<Predecessor> {
    const { before, edge, others } = this
    if (before !== undefined && edge !== undefined) yield { before, edge }
    if (others !== undefined) yield* others
  }
}

/** Approximate memory of an object with its first predecessor, of each further predecessor, and of a view without its record. */
export const reachedBytes = 280
const predecessorBytes = 128
const viewBytes = 200

export interface Visitor {
  /** Returns the edges at an object of that distance, synchronously if possible. */
  follow(view: ObjectView, distance: number): Awaitable<readonly Step[]>
  /** Reads the index entries of these edges together, because each read of a remote store is a round trip. */
  prefetch?(views: readonly ObjectView[], distance: number): Promise<void>
  /** Returns the objects from which the search continues, in the order given. */
  objects(oids: readonly Oid[]): Awaitable<readonly ObjectView[]>
  /** Which edges to an object are retained: the first one, the edges of all shortest paths, or all. */
  readonly keeps: 'first' | 'shortest' | 'all'
  /** Charges memory for the edges at an object before its expansion and yields the cost in edges. Returns false to end the search. */
  reserve?(view: ObjectView): AsyncGenerator<number, boolean>
}

const edgesPerClockCheck = 4_096
const objectsPerBatch = 256

export class BreadthFirst {
  distance = 0
  visited = new Map<Oid, Reached>()
  /** The objects reached at the last level, in order. */
  reached: Reached[] = []
  /** Predecessors on the shortest paths back to the start, once one is found. */
  returned: Reached | undefined
  /** Set if the search reads a whole level at once. */
  frontier: readonly Reached[] = []
  private readonly visitor: Visitor
  private readonly context: StatementContext
  private rows = 0
  private bytes = 0
  private frontierBytes = 0

  constructor(visitor: Visitor, context: StatementContext) {
    this.visitor = visitor
    this.context = context
  }

  begin(oid: Oid, view?: ObjectView): Reached {
    return this.visited.get(oid) ?? this.reach(oid, view)
  }

  /** Expands the frontier. Returns false if the visitor ended the search; yields the cost of each expansion if it must be reserved. */
  async *expand(
    frontier: AsyncIterable<readonly Reached[]> | Iterable<readonly Reached[]>,
  ): AsyncGenerator<number, boolean> {
    const { visitor, context, distance } = this
    this.reached = []
    this.distance++
    let visitedEdges = 0
    for await (const part of frontier) {
      await visitor.prefetch?.(
        part.map(({ view }) => view as ObjectView),
        distance,
      )
      for (const from of part) {
        const view = from.view as ObjectView
        if (visitor.reserve !== undefined && !(yield* visitor.reserve(view))) return false
        const found = visitor.follow(view, distance)
        const steps = found instanceof Promise ? await found : found
        for (const step of steps) {
          this.visit(from, step)
          const pause = ++visitedEdges % edgesPerClockCheck === 0 ? context.yieldIfDue() : undefined
          if (pause !== undefined) await pause
        }
        from.view = undefined
        if (visitor.reserve !== undefined) yield steps.length + 1
      }
    }
    return true
  }

  /** Reads the objects in batches and yields those from which the search continues; removes the predecessors of the rest. */
  async *read(reached: readonly Reached[]): AsyncGenerator<readonly Reached[]> {
    for (let at = 0; at < reached.length; at += objectsPerBatch) {
      const part = reached.slice(at, at + objectsPerBatch)
      const views = await this.visitor.objects(part.map(({ oid }) => oid))
      let next = 0
      yield part.filter((one) => {
        const view = views[next]
        if (view?.oid !== one.oid) {
          one.removePredecessors()
          return false
        }
        one.view = view
        one.format = view.format
        next++
        return true
      })
    }
  }

  /** Expands the whole frontier; only for a search without reservations. */
  async expandLevel(): Promise<void> {
    const { frontier } = this
    const parts = Array.from({ length: Math.ceil(frontier.length / objectsPerBatch) }, (_, i) =>
      frontier.slice(i * objectsPerBatch, (i + 1) * objectsPerBatch),
    )
    await this.expand(parts).next()
    this.frontier = []
    this.charge(0, -this.frontierBytes)
    this.frontierBytes = 0
  }

  async readLevel(): Promise<void> {
    const all: Reached[] = []
    for await (const part of this.read(this.reached)) {
      let bytes = 0
      for (const { view } of part) bytes += viewBytes + (view?.record.length ?? 0)
      this.frontierBytes += bytes
      this.charge(0, bytes)
      for (const one of part) all.push(one)
    }
    this.frontier = all
  }

  /** May be called more than once. */
  release(): void {
    this.context.hold(-this.rows, -this.bytes)
    this.rows = 0
    this.bytes = 0
    this.frontierBytes = 0
    this.visited = new Map()
  }

  private visit(from: Reached, step: Step): void {
    const { distance, visited } = this
    const { keeps } = this.visitor
    const { neighbour } = step
    let to = visited.get(neighbour) ?? this.reach(neighbour)
    if (keeps !== 'all') {
      if (to.distance === 0) {
        this.returned ??= new Reached(neighbour, distance)
        to = this.returned
      }
      if (to.distance !== distance || (keeps === 'first' && to.hasPredecessor)) return
    }
    if (to.hasPredecessor) this.charge(0, predecessorBytes)
    // Not the step, which may keep the object that it was found at.
    to.add(from, step.edge)
  }

  private reach(oid: Oid, view?: ObjectView): Reached {
    this.charge(1, reachedBytes)
    const reached = new Reached(oid, this.distance, view)
    this.visited.set(oid, reached)
    this.reached.push(reached)
    return reached
  }

  private charge(rows: number, bytes: number): void {
    if (this.visitor.reserve !== undefined) return
    this.rows += rows
    this.bytes += bytes
    this.context.hold(rows, bytes)
  }
}
