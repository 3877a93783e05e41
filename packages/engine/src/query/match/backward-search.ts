/** Searches back from the ends of paths and prunes the forward search, never doing more work than it, so both cost at most twice the cheaper one. */
import { isMemoryRefused } from '../../budget/request-memory.ts'
import { backwardEdgesMax } from '../../limits.ts'
import type { Awaitable } from '../../store/store.ts'
import type { Oid } from '../../types/oid.ts'
import type { BoundEdge } from '../bind/bind-match.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import { BreadthFirst, type Reached, reachedBytes, type Visitor } from './breadth-first.ts'
import { type IncidentEdges, type Step, seenFrom } from './incident-edges.ts'
import type { MatchFlow } from './match-operator.ts'

export interface ForwardEdges {
  readonly edges: IncidentEdges
  follow(): Awaitable<readonly Step[]>
  /** Records in the plan that already known edges were followed. */
  note?(edges: number): void
  readonly operator: ExplainNode
}

/** How the work is shared between the two searches; all figures are numbers of edges. */
export interface Balance {
  /** The forward search follows this many edges before the backward search begins. */
  readonly before: number
  readonly countBatch: number
  /** Counting this many edges costs as much as following one. */
  readonly countedPerEdge: number
  /** Growth factor of the bounds up to which edges of the forward search are counted. */
  readonly countsStep: number
}

/** The first bound for counting the edges of an object. */
const fewEdges = 64

/** A place of the forward search is a number that says how far it is from the ends. */
export abstract class BackwardSearch {
  protected readonly flow: MatchFlow
  protected search: BreadthFirst
  private readonly balance: Balance
  private readonly visitor: Visitor
  private readonly work: AsyncGenerator<number>
  /** Work done so far by the forward search; `cost` is that of the backward search. */
  private spent = 0
  private cost = 0
  private isOver = false
  private edgesRetained = 0
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

  /** Whether all edges from a place of the forward search that lead to an end are known. */
  abstract isExplored(place: number): boolean

  /** Returns these edges at an object, or undefined while some of them are unknown. */
  abstract exploredSteps(place: number, view: ObjectView): Step[] | undefined

  /** False if no end can be reached from the object. */
  abstract mayArrive(oid: Oid, place: number): boolean

  /** Yields the cost of each step, as a number of edges. */
  protected abstract run(): AsyncGenerator<number>

  /** The edges that are currently followed backward. */
  protected abstract readonly edges: IncidentEdges

  /** Returns the reached objects from which the search continues. */
  protected abstract objects(oids: readonly Oid[]): Awaitable<readonly ObjectView[]>

  protected newSearch(): BreadthFirst {
    return new BreadthFirst(this.visitor, this.flow.context)
  }

  /** The edges at an object that may lead to an end. Counting is cheaper than following, so this search advances first and may already know them. */
  async stepsAt(place: number, view: ObjectView, forward: ForwardEdges): Promise<readonly Step[]> {
    const counted = await this.advanceBefore(place, view, forward)
    const explored = this.exploredSteps(place, view)
    if (explored !== undefined) {
      forward.note?.(explored.length)
      return explored
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
    // On a remote store, counting costs a round trip just as following does, so the edges are followed first.
    if (this.flow.context.isRemote) return 0
    let counted = 0
    for (let max = fewEdges; !this.isOver && !this.isExplored(place); max *= this.balance.countsStep) {
      const count = await edges.count(view, max)
      await this.advance(count - counted, operator)
      counted = count
      if (count < max || count > backwardEdgesMax) break
    }
    return counted
  }

  /** Advances this search after `spent` edges of the forward search, and records its own edges in the plan. */
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
      // The forward search continues without pruning if memory is refused.
      if (!isMemoryRefused(error)) throw error
      this.isOver = true
      this.forget()
    }
    operator.examined += this.cost - before
  }

  /** May be called more than once. */
  async close(): Promise<void> {
    this.isOver = true
    await this.work.return(undefined)
  }

  /** The predecessors that lead to an end, as edges at the object that was reached. */
  protected stepsFrom(
    reached: Reached | undefined,
    view: ObjectView,
    edge: BoundEdge,
    qualifies: (before: Reached) => boolean = () => true,
  ): Step[] {
    const steps: Step[] = []
    for (const { before, edge: one } of reached?.predecessors() ?? [])
      if (qualifies(before)) steps.push({ edge: one, neighbour: before.oid, place: undefined })
    return seenFrom(view, steps, edge)
  }

  /** Starts a new search. Memory reserved for the previous one is held until the statement ends. */
  protected nextSearch(): void {
    this.search = this.newSearch()
    this.bytes = 0
  }

  protected forget(): void {
    this.flow.context.hold(0, -this.bytes)
    this.bytes = 0
    this.search.release()
  }

  /** Throws LimitExceeded and ServerBusy. */
  private async *reserve(view: ObjectView): AsyncGenerator<number, boolean> {
    const { countBatch, countedPerEdge } = this.balance
    const count = yield* this.edges.countInSteps(view, countBatch, countedPerEdge)
    this.edgesRetained += count
    if (this.edgesRetained > backwardEdgesMax) return false
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
