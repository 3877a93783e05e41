/** Expand: each row with every walk along one edge pattern, from a vertex that has an object to the next one. */
import type { Oid } from '../../types/oid.ts'
import type { BoundEdge, BoundPattern } from '../bind/bind-match.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import type { Edge } from '../values/edge.ts'
import { inputsOf, type MatchFlow, type MatchOperator } from './match-operator.ts'
import type { MatchBatches, MatchRow } from './match-row.ts'
import { Neighbours, type Step } from './neighbours.ts'
import { edgeKey, mayBeMetAgain, repeatsVertices, withVertex } from './path-modes.ts'
import { type PredicatePlan, predicateTexts, qualified } from './predicates.ts'
import type { VertexPlan } from './vertices.ts'

/** An edge pattern whose turn it is, and which of its ends has an object by then. */
export interface EdgeStep {
  readonly patterns: readonly BoundPattern[]
  readonly pattern: BoundPattern
  readonly patternNumber: number
  readonly edge: BoundEdge
  readonly edgeNumber: number
  readonly from: VertexPlan
  readonly to: VertexPlan
  /** Among the vertices of the MATCH. */
  readonly toPosition: number
  /** Both ends have objects: what is looked for is the way between them. */
  readonly isToBound: boolean
  /** From the pattern's left to its right. */
  readonly isRightward: boolean
  /** Those that can be decided once both ends and the edge are known. */
  readonly predicates: readonly PredicatePlan[]
}

type Direction = 'forward' | 'backward' | 'either'

/** Of one run. */
interface Expansion extends EdgeStep {
  readonly context: StatementContext
  readonly neighbours: Neighbours
  readonly direction: Direction
  readonly operator: ExplainNode
}

export function expand(step: EdgeStep): MatchOperator {
  return {
    run(input, flow) {
      const { context } = flow
      const direction = directionOf(step)
      const neighbours = neighboursOf(step, context)
      const operator = explainNode('expand', detailsOf(step, direction, neighbours), inputsOf(input.operator))
      const rows = walked({ ...step, context, neighbours, direction, operator }, input.rows, flow)
      return { rows: context.measured(rows, operator), operator }
    },
  }
}

/** As seen from the vertex that has an object. */
function directionOf({ edge, isRightward }: EdgeStep): Direction {
  if (edge.direction === 'either') return 'either'
  return (edge.direction === 'forward') === isRightward ? 'forward' : 'backward'
}

function neighboursOf({ edge, to, isRightward }: EdgeStep, context: StatementContext): Neighbours {
  const { leftLabel, rightLabel } = edge
  const labels = isRightward ? { begin: leftLabel, end: rightLabel } : { begin: rightLabel, end: leftLabel }
  const neighbourClass = edge.max === 1 ? (to.cls ?? undefined) : undefined
  return new Neighbours(context, edge.attributes, labels, neighbourClass)
}

const namesShownMax = 8

function detailsOf(
  { edge, from, to, pattern, predicates }: EdgeStep,
  direction: Direction,
  neighbours: Neighbours,
): Readonly<Record<string, unknown>> {
  const names = new Set(edge.attributes.map(({ attribute }) => attribute.name))
  return {
    from: from.name ?? null,
    to: to.name ?? null,
    direction,
    attributes: names.size > namesShownMax ? 'all' : [...names],
    ...(edge.isVariable ? { edges: `${edge.min}..${edge.max}` } : {}),
    mode: pattern.mode,
    ...predicateTexts(predicates),
    /** Known when edges have been followed. */
    get backwardBy() {
      return neighbours.ways.size === 0 ? undefined : [...neighbours.ways]
    },
  }
}

async function* walked(
  expansion: Expansion,
  input: MatchBatches,
  flow: MatchFlow,
): AsyncGenerator<readonly MatchRow[]> {
  const { predicates, operator } = expansion
  for await (const batch of input) {
    for (const row of batch) {
      for await (const found of walksFrom(expansion, row)) {
        const kept = await qualified(predicates, found, flow)
        operator.returned += kept.length
        if (kept.length > 0) yield kept
      }
    }
  }
}

const batchRows = 256
/** Of the objects in which they end. */
const batchBytes = 4 * 2 ** 20

/** A step that was taken, and the class of the object that it led to. */
interface Taken extends Step {
  readonly neighbourClass: string
  readonly edgeObject: ObjectView | undefined
}

interface Frame {
  readonly steps: readonly Step[]
  next: number
}

/** Every walk of the wanted length from the row's vertex, depth first: only one walk is held at a time. */
async function* walksFrom(expansion: Expansion, row: MatchRow): AsyncGenerator<MatchRow[]> {
  const { edge, from, isToBound, context, pattern } = expansion
  const { reader } = context
  const start = row.slots[from.slot] as ObjectView
  const been = new Set(row.visited[expansion.patternNumber])
  const used = pattern.mode === 'trail' ? edgesUsed(row, expansion) : undefined
  const stack: Frame[] = [{ steps: await stepsOf(expansion, start, 0), next: 0 }]
  const walk: Taken[] = []
  let foundBytes = 0
  let found: MatchRow[] = edge.min === 0 ? (arrive(expansion, row, been, [], start) ?? []) : []
  while (stack.length > 0) {
    const frame = stack.at(-1) as Frame
    const step = frame.steps[frame.next++]
    if (step === undefined) {
      stack.pop()
      const last = walk.pop()
      if (last === undefined) continue
      been.delete(last.neighbour)
      used?.delete(edgeKey(last.edge))
      continue
    }
    if (used?.has(edgeKey(step.edge)) === true) continue
    // The last edge of a walk leads to its end or nowhere: no object has to be read to see that.
    if (walk.length + 1 >= edge.max && isToBound && !isBoundEnd(expansion, row, step.neighbour)) continue
    const wanted = edge.edgeObject !== undefined && step.edge.edgeData !== undefined ? [step.edge.edgeData] : []
    const [view, edgeObject] = await evaluateRows(context, [step.neighbour, ...wanted], (oid) => reader.object(oid))
    if (view?.format === undefined) continue
    walk.push({ ...step, neighbourClass: view.format.cls.name, edgeObject })
    const mayArrive = walk.length >= edge.min && step.place !== 'inner'
    const arrived = mayArrive ? arrive(expansion, row, been, walk, view) : undefined
    if (arrived !== undefined) {
      found.push(...arrived)
      foundBytes += view.record.length
    }
    if (found.length >= batchRows || foundBytes >= batchBytes) {
      yield found
      found = []
      foundBytes = 0
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
    const isMet = been.has(view.oid) || isBoundEnd(expansion, row, view.oid)
    const isEnd = walk.length >= edge.max || step.place === 'last'
    if (isEnd || (isMet && !repeatsVertices(pattern.mode))) {
      walk.pop()
      continue
    }
    been.add(view.oid)
    used?.add(edgeKey(step.edge))
    stack.push({ steps: await stepsOf(expansion, view, walk.length), next: 0 })
  }
  if (found.length > 0) yield found
}

/** `length`: of the walk so far. */
async function stepsOf(
  { neighbours, operator, direction, context, edge }: Expansion,
  view: ObjectView,
  length: number,
): Promise<Step[]> {
  const place = { isFirst: length === 0, mayBeLast: length + 1 >= edge.min, mustBeLast: length + 1 >= edge.max }
  const forward = direction === 'backward' ? [] : await neighbours.forward(view, place)
  const backward = direction === 'forward' ? [] : await neighbours.backward(view, place)
  const steps = backward.length === 0 ? forward : [...forward, ...backward]
  operator.examined += steps.length
  context.expand(steps.length)
  const pause = context.yieldIfDue()
  if (pause !== undefined) await pause
  return steps
}

function edgesUsed(row: MatchRow, { patternNumber }: EdgeStep): Set<string> {
  return new Set((row.edges[patternNumber] ?? []).flatMap((edges) => (edges ?? []).map(edgeKey)))
}

function isBoundEnd({ isToBound, to }: Expansion, row: MatchRow, oid: Oid): boolean {
  return isToBound && (row.slots[to.slot] as ObjectView).oid === oid
}

/** The row with the walk, where it may end at that object: one or none. */
function arrive(
  expansion: Expansion,
  row: MatchRow,
  been: ReadonlySet<Oid>,
  walk: readonly Taken[],
  view: ObjectView,
): MatchRow[] | undefined {
  const { isToBound, to, toPosition, patterns, pattern, patternNumber, edge, edgeNumber, isRightward } = expansion
  const isAgain = been.has(view.oid) && !mayBeMetAgain(pattern, toPosition)
  let next = row
  if (isToBound) {
    if (!isBoundEnd(expansion, row, view.oid)) return undefined
  } else {
    const cls = view.format?.cls
    if (isAgain || (to.cls !== null && cls?.isOrInherits(to.cls.number) !== true)) return undefined
    const bound = withVertex(patterns, row, toPosition, to.slot, view)
    if (bound === undefined) return undefined
    next = bound
  }
  const between = walk.slice(0, -1).map(({ neighbour }) => neighbour)
  const visited = next.visited.with(patternNumber, [...(next.visited[patternNumber] as readonly Oid[]), ...between])
  const walked = named(expansion, row, walk)
  const edges = isRightward ? walked : walked.reverse()
  const ofPattern = (next.edges[patternNumber] as readonly (readonly Edge[] | undefined)[]).with(edgeNumber, edges)
  const slots = next.slots.with(edge.slot, edge.isVariable ? edges : (walk[0]?.edgeObject ?? edges[0]))
  return [{ slots, visited, edges: next.edges.with(patternNumber, ofPattern) }]
}

/** The edges with the classes of both their ends. */
function named({ from }: Expansion, row: MatchRow, walk: readonly Taken[]): Edge[] {
  let nearClass = (row.slots[from.slot] as ObjectView).format?.cls.name ?? ''
  return walk.map(({ edge, neighbour, neighbourClass }) => {
    const isForward = edge.to === neighbour && edge.fromClass !== ''
    const [fromClass, toClass] = isForward ? [nearClass, neighbourClass] : [neighbourClass, nearClass]
    nearClass = neighbourClass
    return { ...edge, fromClass, toClass }
  })
}
