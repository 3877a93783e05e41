/**
 * Breadth-first search, which all searches for paths share: from level to level, the edges at the objects of the frontier lead to the next ones. A
 * visitor says how edges are found, which of them are kept as predecessors, and what a search that shares its time may cost.
 */
import type { ClassFormat } from '../../records/class-format.ts'
import type { Awaitable } from '../../store/store.ts'
import type { Oid } from '../../types/oid.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { Edge } from '../values/edge.ts'
import type { Step } from './incident-edges.ts'

/** An edge by which an object was reached, and the object at its other end. */
export interface Predecessor {
  readonly before: Reached
  readonly edge: Edge
}

/** An object that was reached, at its distance from where the search begins, with its predecessors. */
export class Reached {
  readonly oid: Oid
  readonly distance: number
  /** From when it is read until it is expanded; after that, its class is enough. */
  view: ObjectView | undefined
  /** Of an object that was read and exists. */
  format: ClassFormat | undefined
  private before: Reached | undefined
  private edge: Edge | undefined
  /** Most objects have one predecessor, and no list of them. */
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

/** About what an object takes with its first predecessor, each further predecessor, and the view of an object beside its record. */
export const reachedBytes = 280
const predecessorBytes = 128
const viewBytes = 200

export interface Visitor {
  /** The edges at an object of that distance. Without a promise where nothing has to be waited for. */
  follow(view: ObjectView, distance: number): Awaitable<readonly Step[]>
  /** Reads together what these edges are found by, where each read is a trip. */
  prefetch?(views: readonly ObjectView[], distance: number): Promise<void>
  /** Those of the objects that the search goes on from, in the same order. */
  objects(oids: readonly Oid[]): Awaitable<readonly ObjectView[]>
  /** Which edges that lead to an object are kept: the first one, those of all shortest paths, or all that are found. */
  readonly keeps: 'first' | 'shortest' | 'all'
  /**
   * For a search that shares its time with another one: charges the memory for the edges at an object before it is expanded. False where the search has
   * to end there. Yields what that costs, as a number of edges.
   */
  reserve?(view: ObjectView): AsyncGenerator<number, boolean>
}

const edgesBetweenLooks = 4_096
/** Objects that are read at once. */
const objectsAtOnce = 256

export class BreadthFirst {
  /** Of the objects of the frontier from where the search begins. */
  distance = 0
  visited = new Map<Oid, Reached>()
  /** What the last level has reached, in order. */
  reached: Reached[] = []
  /** The shortest ways back to where the search begins, once one is found. */
  returned: Reached | undefined
  /** Of a search that reads a whole level at once. */
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

  /** Adds an object at which the search begins. */
  begin(oid: Oid, view?: ObjectView): Reached {
    return this.visited.get(oid) ?? this.reach(oid, view)
  }

  /** Expands the frontier, whose objects come in parts. False where the visitor has ended the search. Yields what an expansion costs that has to be reserved. */
  async *expand(
    frontier: AsyncIterable<readonly Reached[]> | Iterable<readonly Reached[]>,
  ): AsyncGenerator<number, boolean> {
    const { visitor, context, distance } = this
    this.reached = []
    this.distance++
    let looked = 0
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
          const pause = ++looked % edgesBetweenLooks === 0 ? context.yieldIfDue() : undefined
          if (pause !== undefined) await pause
        }
        from.view = undefined
        if (visitor.reserve !== undefined) yield steps.length + 1
      }
    }
    return true
  }

  /** In parts, those that the search goes on from; the others have no predecessors any more. */
  async *read(reached: readonly Reached[]): AsyncGenerator<readonly Reached[]> {
    for (let at = 0; at < reached.length; at += objectsAtOnce) {
      const part = reached.slice(at, at + objectsAtOnce)
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

  /** Expands the whole frontier, of a search that shares its time with no other. */
  async expandLevel(): Promise<void> {
    const { frontier } = this
    const parts = Array.from({ length: Math.ceil(frontier.length / objectsAtOnce) }, (_, i) =>
      frontier.slice(i * objectsAtOnce, (i + 1) * objectsAtOnce),
    )
    await this.expand(parts).next()
    this.frontier = []
    this.charge(0, -this.frontierBytes)
    this.frontierBytes = 0
  }

  /** Reads the next frontier, and holds it. */
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

  /** When its objects are no longer needed. May be called again. */
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
