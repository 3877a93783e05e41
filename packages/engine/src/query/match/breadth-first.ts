/** A breadth-first search from one object: what it has met, each at one length only, and by which edges. */
import { SteadyMap } from '../../budget/steady-map.ts'
import type { ClassFormat } from '../../records/class-format.ts'
import type { Awaitable } from '../../store/store.ts'
import type { Oid } from '../../types/oid.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { Edge } from '../values/edge.ts'
import type { Step } from './neighbours.ts'

/** By which edge an object was met, and from which one. */
interface LastEdge {
  readonly before: Reached
  readonly edge: Edge
}

/** An object that was met, and by which last edges at its length; none of the object at which the search begins. */
export class Reached {
  readonly oid: Oid
  readonly length: number
  /** Of an object that was read and is there. */
  format: ClassFormat | undefined
  private object: ObjectView | undefined
  private before: Reached | undefined
  private edge: Edge | undefined
  /** Most objects have one edge alone, and no list of them. */
  private others: LastEdge[] | undefined

  constructor(oid: Oid, length: number, view: ObjectView | undefined) {
    this.oid = oid
    this.length = length
    this.view = view
  }

  /** Known from when it is read until the edges at it are followed: later, what it is of is enough. */
  get view(): ObjectView | undefined {
    return this.object
  }

  set view(view: ObjectView | undefined) {
    this.object = view
    if (view !== undefined) this.format = view.format
  }

  get hasEdge(): boolean {
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

  *by(): Generator<LastEdge> {
    const { before, edge, others } = this
    if (before !== undefined && edge !== undefined) yield { before, edge }
    if (others !== undefined) yield* others
  }
}

export interface Level {
  readonly reached: readonly Reached[]
  /** The shortest ways back to the beginning, where they end at this level. */
  readonly returned: Reached | undefined
}

/** Edges at an object of that length. */
export type Follow = (view: ObjectView, length: number) => Awaitable<readonly Step[]>

/** Reads together what edges at objects of that length are found by. */
export type Prefetch = (views: readonly ObjectView[], length: number) => Promise<void>

function viewsOf(reached: readonly Reached[]): ObjectView[] {
  return reached.flatMap(({ view }) => view ?? [])
}

/** About what an object takes with its last edge, each further edge, and the view of an object beside its record. */
const reachedBytes = 280
const edgeBytes = 128
const viewBytes = 200
const looksBetweenTurns = 4_096
/** Objects that are read at once. */
const objectsAtOnce = 256

export class BreadthFirst {
  readonly begin: Reached
  /** The objects of the last level, those that there are. */
  level: readonly Reached[]
  length = 0
  private readonly context: StatementContext
  private readonly isOne: boolean
  private readonly known = new SteadyMap<Oid, Reached>()
  private objects = 0
  private bytes = 0
  /** Of the objects of the level. */
  private levelBytes = 0

  /** `isOne`: one last edge of each object is enough. */
  constructor(start: ObjectView, isOne: boolean, context: StatementContext) {
    this.context = context
    this.isOne = isOne
    this.begin = new Reached(start.oid, 0, start)
    this.level = [this.begin]
    this.know(this.begin)
  }

  get(oid: Oid): Reached | undefined {
    return this.known.get(oid)
  }

  /** What is met for the first time one edge further on; it is not read yet. */
  async next(follow: Follow, prefetch?: Prefetch): Promise<Level> {
    const length = ++this.length
    const reached: Reached[] = []
    let returned: Reached | undefined
    let looked = 0
    for (const [i, before] of this.level.entries()) {
      if (prefetch !== undefined && i % objectsAtOnce === 0) {
        await prefetch(viewsOf(this.level.slice(i, i + objectsAtOnce)), length - 1)
      }
      const found = follow(before.view as ObjectView, length - 1)
      for (const step of found instanceof Promise ? await found : found) {
        let at = this.known.get(step.neighbour)
        if (at === this.begin) {
          returned ??= new Reached(at.oid, length, at.view)
          at = returned
        } else if (at === undefined) {
          at = new Reached(step.neighbour, length, undefined)
          this.know(at)
          reached.push(at)
        }
        if (at.length === length && !(at.hasEdge && this.isOne)) {
          if (at.hasEdge) this.hold(0, edgeBytes)
          // Not the step, which may keep the object that it was found at.
          at.add(before, step.edge)
        }
        if (++looked % looksBetweenTurns > 0) continue
        const pause = this.context.yieldIfDue()
        if (pause !== undefined) await pause
      }
      if (before !== this.begin) before.view = undefined
    }
    this.level = []
    this.hold(0, -this.levelBytes)
    this.levelBytes = 0
    return { reached, returned }
  }

  /** Goes on from those of the objects that there are. */
  async read(reached: readonly Reached[]): Promise<void> {
    const { reader } = this.context
    const all: Reached[] = []
    for (let at = 0; at < reached.length; at += objectsAtOnce) {
      const some = reached.slice(at, at + objectsAtOnce)
      const views = await evaluateRows(this.context, some, ({ oid }) => reader.objectOnce(oid))
      let bytes = 0
      for (const { record } of views) bytes += viewBytes + record.length
      this.levelBytes += bytes
      this.hold(0, bytes)
      for (const [i, one] of some.entries()) {
        const view = views[i]
        if (view?.format === undefined) continue
        one.view = view
        all.push(one)
      }
    }
    this.level = all
  }

  /** When its objects are no longer needed. May be called again. */
  release(): void {
    this.context.hold(-this.objects, -this.bytes)
    this.objects = 0
    this.bytes = 0
    this.levelBytes = 0
  }

  private know(reached: Reached): void {
    this.hold(1, reachedBytes)
    this.known.set(reached.oid, reached)
  }

  private hold(objects: number, bytes: number): void {
    this.objects += objects
    this.bytes += bytes
    this.context.hold(objects, bytes)
  }
}
