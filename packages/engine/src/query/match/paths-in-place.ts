/** Finds the rows of a MATCH along a path in one row whose slots are overwritten in place; consumers that retain a row copy it. */
import { needsFetch } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { RowConsumer } from '../execute/pushed-rows.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import {
  type FirstVertex,
  type InPlaceVertex,
  type MatchFlow,
  type MatchOperator,
  type NextVertex,
  yieldBeforeNext,
} from './match-operator.ts'
import { type MatchRow, matchRowKind } from './match-row.ts'

/** Returns undefined if an operator cannot run in place. `nodes`: one per operator; `slots`: their number in a row. */
export function pathsInPlace(
  operators: readonly MatchOperator[],
  nodes: readonly ExplainNode[],
  slots: number,
  flow: MatchFlow,
): PathsInPlace | undefined {
  const { context } = flow
  if (context.isRemote || context.snapshot.visit === undefined) return undefined
  const [start, ...others] = operators
  const [node, ...otherNodes] = nodes as [ExplainNode, ...ExplainNode[]]
  const first = start?.first?.(flow, node)
  const next = others.map((operator, i) => operator.next?.(flow, otherNodes[i] as ExplainNode))
  if (first === undefined || next.length === 0 || !next.every((one) => one !== undefined)) return undefined
  return new PathsInPlace(first, next, nodes, slots, flow)
}

/** A row is complete, the event loop must be yielded to, a condition needs an asynchronous read, or the rows are exhausted. */
type Progress = 'row' | 'pause' | 'undecided' | 'end'

/** Objects examined between checks of the clock, less one; a bit mask. */
const clockCheckMask = 31
const batchRows = 256

export class PathsInPlace {
  private readonly first: FirstVertex
  private readonly next: readonly NextVertex[]
  /** Count the rows, in the order of the vertices. */
  private readonly nodes: readonly ExplainNode[]
  private readonly flow: MatchFlow
  private readonly slots: unknown[]
  private readonly row: MatchRow
  /** The next vertex to advance; -1 if the first object has no more paths. */
  private at = -1
  private examined = 0

  constructor(
    first: FirstVertex,
    next: readonly NextVertex[],
    nodes: readonly ExplainNode[],
    slots: number,
    flow: MatchFlow,
  ) {
    this.nodes = nodes
    this.first = first
    this.next = next
    this.flow = flow
    this.slots = new Array(slots).fill(undefined)
    this.row = { slots: this.slots, visited: [], edges: [] }
  }

  readonly push = async (consumer: RowConsumer<MatchRow>): Promise<void> => {
    for await (const views of this.first.objects()) {
      for (const view of views) {
        for (let progress = this.begin(view); progress !== 'end'; progress = this.advance()) {
          const isRow = progress === 'row' || (await this.settle(progress))
          if (isRow && !consumer.consume(this.row)) await consumer.consumeCopies([matchRowKind.copy(this.row)])
        }
      }
    }
  }

  async *batches(): AsyncGenerator<readonly MatchRow[]> {
    let rows: MatchRow[] = []
    for await (const views of this.first.objects()) {
      for (const view of views) {
        for (let progress = this.begin(view); progress !== 'end'; progress = this.advance()) {
          if (progress === 'row' || (await this.settle(progress))) rows.push(matchRowKind.copy(this.row))
          if (rows.length < batchRows && (progress !== 'pause' || rows.length === 0)) continue
          yield rows
          rows = []
        }
      }
    }
    if (rows.length > 0) yield rows
  }

  /** Starts from a first object and continues to its first row, or to an interruption. */
  private begin(view: ObjectView): Progress {
    const { first } = this
    this.slots[first.slot] = view
    this.at = -1
    const isAllowed = this.isAllowed(first)
    if (isAllowed === undefined) return 'undecided'
    if (isAllowed) this.enter(0)
    return this.advance()
  }

  /** Continues to the next row, or to an interruption. */
  private advance(): Progress {
    const { next, slots } = this
    while (this.at >= 0) {
      const vertex = next[this.at] as NextVertex
      const found = vertex.next()
      if (found === yieldBeforeNext) return 'pause'
      if (found === undefined) {
        this.at--
        continue
      }
      slots[vertex.slot] = found
      const isAllowed = this.isAllowed(vertex)
      if (isAllowed === undefined) return 'undecided'
      if (isAllowed && this.enter(this.at + 1)) return 'row'
      if ((++this.examined & clockCheckMask) === 0 && this.flow.context.isYieldDue) return 'pause'
    }
    return 'end'
  }

  /** Starts the vertex at `at`; returns true if all vertices are bound. */
  private enter(at: number): boolean {
    const node = this.nodes[at] as ExplainNode
    node.returned++
    const vertex = this.next[at]
    if (vertex === undefined) return true
    this.at = at
    vertex.begin(this.slots)
    return false
  }

  /** Returns undefined if an asynchronous read is needed. */
  private isAllowed({ conditions }: InPlaceVertex): boolean | undefined {
    if (conditions.length === 0) return true
    const { evaluation, context } = this.flow
    matchRowKind.enter(evaluation, this.row)
    try {
      for (let i = 0; i < conditions.length; i++) if (conditions[i]?.(evaluation) !== true) return false
      return true
    } catch (error) {
      if (error !== needsFetch) throw error
      return undefined
    } finally {
      context.endRow()
    }
  }

  /** Resolves the interruption; returns whether a row is complete afterwards. */
  private async settle(progress: 'pause' | 'undecided'): Promise<boolean> {
    const { first, next, flow } = this
    const { evaluation, context } = flow
    const wait = context.yieldIfDue()
    if (wait !== undefined) await wait
    if (progress === 'pause') return false
    const { conditions } = next[this.at] ?? first
    const [isAllowed] = await evaluateRows(context, [this.row], (row) => {
      matchRowKind.enter(evaluation, row)
      return conditions.every((evaluate) => evaluate(evaluation) === true)
    })
    return isAllowed === true && this.enter(this.at + 1)
  }
}
