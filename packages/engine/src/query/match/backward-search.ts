/**
 * The search back from the ends of paths, in balance with the one that follows them forward: it never does more than that has done, so both together
 * cost at most about twice as much as the cheaper one alone. As far as it has come, it is known of an edge whether an end can be reached behind it.
 */
import { isMemoryRefused } from '../../budget/request-memory.ts'
import { farSideEdgesMax } from '../../limits.ts'
import type { Awaitable } from '../../store/store.ts'
import type { Oid } from '../../types/oid.ts'
import type { BoundEdge } from '../bind/bind-match.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import { BreadthFirst, type Reached, reachedBytes, type Visitor } from './breadth-first.ts'
import { type IncidentEdges, type Step, seenFrom } from './incident-edges.ts'
import type { MatchFlow } from './match-operator.ts'

/** What the forward search finds at an object by itself. */
export interface ForwardEdges {
  readonly edges: IncidentEdges
  /** Follows the edges. */
  follow(): Awaitable<readonly Step[]>
  /** Notes known edges that are taken, where they are to be noted. */
  note?(edges: number): void
  readonly operator: ExplainNode
}

/** How the work is shared. All are numbers of edges. */
export interface Balance {
  /** What the forward search follows before the other one begins. */
  readonly before: number
  /** Edges of an object that are counted at once. */
  readonly countedAtOnce: number
  /** So many are counted for what it costs to follow one. */
  readonly countedPerEdge: number
  /** By which the bounds grow up to which the forward search has edges counted. */
  readonly countsStep: number
}

/** So many edges of an object are counted first. */
const fewEdges = 64

/** A place of the forward search, a number, says how far it is from the ends. */
export abstract class BackwardSearch {
  protected readonly flow: MatchFlow
  protected search: BreadthFirst
  private readonly balance: Balance
  private readonly visitor: Visitor
  private readonly work: AsyncGenerator<number>
  /** What the forward search has done, and what this one has. */
  private spent = 0
  private cost = 0
  private isOver = false
  private edgesKept = 0
  private bytes = 0

  constructor(flow: MatchFlow, balance: Balance) {
    this.flow = flow
    this.balance = balance
    this.visitor = {
      keeps: 'all',
      objects: (oids) => this.objects(oids),
      reserve: (view) => this.reserve(view),
      follow: (view, distance) => this.follow(view, distance),
    }
    this.search = this.newSearch()
    this.work = this.run()
  }

  /** Whether all edges are known that lead on to an end from a place of the forward search. */
  abstract isKnown(place: number): boolean

  /** These edges, at an object there; undefined as long as not all are known. */
  abstract knownSteps(place: number, view: ObjectView): Step[] | undefined

  /** False where no end can be reached from an object behind an edge there. */
  abstract mayArrive(oid: Oid, place: number): boolean

  /** Yields what each of its pieces has cost, as a number of edges. */
  protected abstract run(): AsyncGenerator<number>

  /** The edges that are followed back now. */
  protected abstract readonly edges: IncidentEdges

  /** Those of the objects that are reached from which the search goes on. */
  protected abstract objects(oids: readonly Oid[]): Awaitable<readonly ObjectView[]>

  protected newSearch(): BreadthFirst {
    return new BreadthFirst(this.visitor, this.flow.context)
  }

  /**
   * The edges at an object of the forward search that may lead to an end. To count edges costs little beside following them, each to an object: so this
   * search is advanced before they are followed, and may know them by then.
   */
  async stepsAt(place: number, view: ObjectView, forward: ForwardEdges): Promise<readonly Step[]> {
    const counted = await this.advanceBefore(place, view, forward)
    const known = this.knownSteps(place, view)
    if (known !== undefined) {
      forward.note?.(known.length)
      return known
    }
    const steps = await forward.follow()
    await this.advance(Math.max(0, steps.length - counted), forward.operator)
    return this.narrowed(place, view, steps)
  }

  protected narrowed(place: number, _view: ObjectView, steps: readonly Step[]): readonly Step[] {
    return steps.filter(({ neighbour }) => this.mayArrive(neighbour, place))
  }

  /** Returns for how many edges at the object this search was advanced. */
  protected async advanceBefore(place: number, view: ObjectView, { edges, operator }: ForwardEdges): Promise<number> {
    // Where to count them is a trip, as to follow them is, they are followed first.
    if (this.flow.context.isRemote) return 0
    let counted = 0
    for (let max = fewEdges; !this.isOver && !this.isKnown(place); max *= this.balance.countsStep) {
      const count = await edges.count(view, max)
      await this.advance(count - counted, operator)
      counted = count
      if (count < max || count > farSideEdgesMax) break
    }
    return counted
  }

  /** After so much work of the forward search, as a number of edges. Notes what it has followed itself. */
  protected async advance(spent: number, operator: ExplainNode): Promise<void> {
    this.spent += spent
    if (this.isOver || this.spent < this.balance.before) return
    const before = this.cost
    try {
      while (!this.isOver && this.cost < this.spent) {
        const { done, value } = await this.work.next()
        if (done === true) this.isOver = true
        else this.cost += value
      }
    } catch (error) {
      // The forward search goes on without what there is no memory for.
      if (!isMemoryRefused(error)) throw error
      this.isOver = true
      this.forget()
    }
    operator.examined += this.cost - before
  }

  /** When no more rows are taken. May be called again. */
  async close(): Promise<void> {
    this.isOver = true
    await this.work.return(undefined)
  }

  /** The predecessors that lead to an end, as edges at the object that was reached. */
  protected stepsFrom(
    reached: Reached | undefined,
    view: ObjectView,
    edge: BoundEdge,
    isWanted: (before: Reached) => boolean = () => true,
  ): Step[] {
    const steps: Step[] = []
    for (const { before, edge: one } of reached?.predecessors() ?? [])
      if (isWanted(before)) steps.push({ edge: one, neighbour: before.oid, place: undefined })
    return seenFrom(view, steps, edge)
  }

  /** Begins anew. What was reserved for the edges of the search before it is held until the statement ends. */
  protected nextSearch(): void {
    this.search = this.newSearch()
    this.bytes = 0
  }

  /** Releases what the search has kept. */
  protected forget(): void {
    this.flow.context.hold(0, -this.bytes)
    this.bytes = 0
    this.search.release()
  }

  /** Throws LimitExceeded and ServerBusy. */
  private async *reserve(view: ObjectView): AsyncGenerator<number, boolean> {
    const { countedAtOnce, countedPerEdge } = this.balance
    const count = yield* this.edges.countInSteps(view, countedAtOnce, countedPerEdge)
    this.edgesKept += count
    if (this.edgesKept > farSideEdgesMax) return false
    this.bytes += count * reachedBytes
    this.flow.context.hold(0, count * reachedBytes)
    return true
  }

  private async follow(view: ObjectView, distance: number): Promise<readonly Step[]> {
    const steps = await this.edges.at(view, distance)
    const pause = this.flow.context.yieldIfDue()
    if (pause !== undefined) await pause
    return steps
  }
}
