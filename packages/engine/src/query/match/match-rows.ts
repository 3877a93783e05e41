/** MATCH carried out: from the vertex with the fewest candidates along the edges, depth first, one row a match. */
import { assert } from '../../errors.ts'
import type { Oid } from '../../types/oid.ts'
import { type ChosenAccessPath, chooseAccess } from '../access/choose-access.ts'
import { objectRows } from '../access/object-rows.ts'
import type { BoundEdge } from '../bind/bind-match.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { addCounts, type ExplainNode, explainNode, rowOperatorPlan } from '../explain/explain-node.ts'
import type { Edge } from '../values/edge.ts'
import { type MatchRow, matchRowKind } from './match-row.ts'
import { Neighbours, type Step } from './neighbours.ts'
import { edgeKey, isAllowed, isDecidedAtEnd, mayBeMetAgain, repeatsVertices } from './path-modes.ts'
import type { MatchPlan, PredicatePlan, VertexPlan } from './plan-match.ts'

type Batches = AsyncIterable<readonly MatchRow[]>

const batchRows = 256
/** Of the objects in which they end. */
const batchBytes = 4 * 2 ** 20

interface Search {
  readonly plan: MatchPlan
  readonly run: EvaluationContext
  readonly context: StatementContext
  /** Positions of the vertices that have objects, in each row. */
  readonly bound: Set<number>
  /** Slots that are filled in each row. */
  readonly filled: Set<number>
  readonly predicatesLeft: Set<PredicatePlan>
  operator: ExplainNode | undefined
}

export async function matchRows(
  plan: MatchPlan,
  run: EvaluationContext,
  context: StatementContext,
): Promise<{ readonly rows: Batches; readonly operator: ExplainNode }> {
  const search: Search = {
    plan,
    run,
    context,
    bound: new Set(),
    filled: new Set(),
    predicatesLeft: new Set(plan.predicates),
    operator: undefined,
  }
  const empty: MatchRow = {
    slots: new Array(plan.slots).fill(undefined),
    visited: plan.patterns.map(() => []),
    edges: plan.patterns.map(({ edges }) => edges.map(() => undefined)),
  }
  let rows: Batches = once([empty])
  const left = new Map(
    plan.patterns.flatMap(({ edges }, pattern) =>
      edges.map((_edge, edge) => [`${pattern} ${edge}`, { pattern, edge }]),
    ),
  )
  while (search.bound.size < plan.vertices.length || left.size > 0) {
    const next = [...left].find(([, place]) => endsOf(plan, place).some((vertex) => search.bound.has(vertex)))
    const other = next === undefined ? undefined : await otherEnd(search, next[1])
    if (next === undefined) {
      const { vertex, chosen } = await cheapestVertex(search)
      rows = bindVertex(search, vertex, chosen, rows)
    } else if (other !== undefined) {
      rows = bindVertex(search, other.vertex, other.chosen, rows)
    } else {
      left.delete(next[0])
      rows = expand(search, next[1], rows)
    }
  }
  for (const { slot } of plan.patterns) search.filled.add(slot)
  const ofWalks = decidable(search)
  return { rows: withWalks(search, ofWalks, rows), operator: search.operator ?? explainNode('match') }
}

interface EdgePlace {
  readonly pattern: number
  readonly edge: number
}

function endsOf({ patterns }: MatchPlan, { pattern, edge }: EdgePlace): [number, number] {
  const { vertices } = patterns[pattern] as PatternPlan
  return [vertices[edge] as number, vertices[edge + 1] as number]
}

async function* once(rows: readonly MatchRow[]): AsyncGenerator<readonly MatchRow[]> {
  yield rows
}

/** So few ends of long walks are looked up first: a walk then knows where it has to arrive. */
const fewEnds = 16

/** The end of a walk of several edges, where it has few candidates of its own. */
async function otherEnd(
  { plan, run, context, bound }: Search,
  place: EdgePlace,
): Promise<{ vertex: number; chosen: ChosenAccessPath } | undefined> {
  const edge = (plan.patterns[place.pattern] as PatternPlan).edges[place.edge] as BoundEdge
  const vertex = endsOf(plan, place).find((end) => !bound.has(end))
  if (edge.max === 1 || vertex === undefined) return undefined
  const { objects } = plan.vertices[vertex] as VertexPlan
  if (objects.accesses.length === 0) return undefined
  const chosen = await chooseAccess(objects, run, context, undefined)
  return chosen.estimated <= fewEnds && chosen.access !== objects.extent ? { vertex, chosen } : undefined
}

/** Of the vertices that have no objects yet. */
async function cheapestVertex({
  plan,
  run,
  context,
  bound,
}: Search): Promise<{ vertex: number; chosen: ChosenAccessPath }> {
  let best: { vertex: number; chosen: ChosenAccessPath } | undefined
  for (const [vertex, { objects }] of plan.vertices.entries()) {
    if (bound.has(vertex)) continue
    const chosen = await chooseAccess(objects, run, context, undefined)
    if (best === undefined || chosen.estimated < best.chosen.estimated) best = { vertex, chosen }
  }
  assert(best !== undefined, 'a pattern without edges left has a vertex left')
  return best
}

/** Those of the predicates that can be decided now and could not before. */
function decidable({ filled, predicatesLeft }: Search): PredicatePlan[] {
  const now = [...predicatesLeft].filter(({ needs }) => [...needs].every((slot) => filled.has(slot)))
  for (const predicate of now) predicatesLeft.delete(predicate)
  return now
}

function predicateTexts(predicates: readonly PredicatePlan[]): { readonly predicates?: readonly string[] } {
  return predicates.length === 0 ? {} : { predicates: predicates.map(({ text }) => text) }
}

function bindVertex(search: Search, vertex: number, chosen: ChosenAccessPath, rows: Batches): Batches {
  const { plan, run, context, bound } = search
  const { objects, slot, name } = plan.vertices[vertex] as VertexPlan
  bound.add(vertex)
  // Those of the vertex alone are part of its source.
  decidableByVertex(search, slot)
  search.filled.add(slot)
  const predicates = decidable(search)
  const before = search.operator
  const start = objectRows(objects, chosen, run, context, undefined)
  const operator = rowOperatorPlan(
    'vertices',
    { name: name ?? null, ...predicateTexts(predicates) },
    before === undefined ? [start.operator] : [before, start.operator],
  )
  search.operator = operator
  async function* bind(): AsyncGenerator<readonly MatchRow[]> {
    let isFirst = true
    for await (const batch of rows) {
      for (const row of batch) {
        const source = isFirst ? start : objectRows(objects, chosen, run, context, undefined)
        isFirst = false
        for await (const views of source.rows) {
          const found = views.flatMap((view) => withVertex(plan, row, vertex, view) ?? [])
          const kept = await qualified(search, predicates, found)
          operator.returned += kept.length
          if (kept.length > 0) yield kept
        }
        if (source !== start) addCounts(start.operator, source.operator)
      }
    }
  }
  return context.measured(bind(), operator)
}

function decidableByVertex({ predicatesLeft }: Search, slot: number): void {
  for (const predicate of predicatesLeft) {
    if (predicate.needs.size === 1 && predicate.needs.has(slot)) predicatesLeft.delete(predicate)
  }
}

type PatternPlan = MatchPlan['patterns'][number]

/** The row with an object for a vertex; undefined where a pattern that has been at that object may not meet it again. */
function withVertex(plan: MatchPlan, row: MatchRow, vertex: number, view: ObjectView): MatchRow | undefined {
  const { slot } = plan.vertices[vertex] as VertexPlan
  const visited = [...row.visited]
  for (const [i, pattern] of plan.patterns.entries()) {
    if (!pattern.vertices.includes(vertex)) continue
    const been = visited[i] as readonly Oid[]
    if (been.includes(view.oid) && !mayBeMetAgain(pattern, vertex)) return undefined
    visited[i] = [...been, view.oid]
  }
  return { ...row, slots: row.slots.with(slot, view), visited }
}

async function qualified(
  search: Search,
  predicates: readonly PredicatePlan[],
  rows: readonly MatchRow[],
): Promise<readonly MatchRow[]> {
  if (predicates.length === 0 || rows.length === 0) return rows
  const { run, context } = search
  const results = await evaluateRows(context, rows, (row) => {
    matchRowKind.enter(run, row)
    return predicates.every(({ evaluate }) => evaluate(run) === true)
  })
  return rows.filter((_row, i) => results[i])
}

interface Expansion {
  readonly search: Search
  readonly place: EdgePlace
  readonly pattern: PatternPlan
  readonly edge: BoundEdge
  readonly from: VertexPlan
  readonly to: VertexPlan
  readonly toVertex: number
  readonly isToBound: boolean
  /** From the pattern's left to its right. */
  readonly isRightward: boolean
  readonly neighbours: Neighbours
  readonly operator: ExplainNode
}

function expand(search: Search, place: EdgePlace, rows: Batches): Batches {
  const { plan, context, bound } = search
  const [left, right] = endsOf(plan, place)
  const isRightward = bound.has(left)
  const [fromVertex, toVertex] = isRightward ? [left, right] : [right, left]
  const pattern = plan.patterns[place.pattern] as PatternPlan
  const edge = pattern.edges[place.edge] as BoundEdge
  const from = plan.vertices[fromVertex] as VertexPlan
  const to = plan.vertices[toVertex] as VertexPlan
  const isToBound = bound.has(toVertex)
  bound.add(toVertex)
  search.filled.add(to.slot)
  search.filled.add(edge.slot)
  const predicates = decidable(search)
  const { leftLabel, rightLabel } = edge
  const labels = isRightward ? { begin: leftLabel, end: rightLabel } : { begin: rightLabel, end: leftLabel }
  const neighbourClass = edge.max === 1 ? (to.cls ?? undefined) : undefined
  const neighbours = new Neighbours(context, edge.attributes, labels, neighbourClass)
  const direction =
    edge.direction === 'either' ? 'either' : (edge.direction === 'forward') === isRightward ? 'forward' : 'backward'
  const names = new Set(edge.attributes.map(({ attribute }) => attribute.name))
  const details = {
    from: from.name ?? null,
    to: to.name ?? null,
    direction,
    attributes: names.size > 8 ? 'all' : [...names],
    ...(edge.isVariable ? { edges: `${edge.min}..${edge.max}` } : {}),
    mode: pattern.mode,
    ...predicateTexts(predicates),
    get backwardBy() {
      return neighbours.ways.size === 0 ? undefined : [...neighbours.ways]
    },
  }
  const operator = explainNode('expand', details, search.operator === undefined ? [] : [search.operator])
  search.operator = operator
  const expansion = { search, place, pattern, edge, from, to, toVertex, isToBound, isRightward, neighbours, operator }
  async function* walk(): AsyncGenerator<readonly MatchRow[]> {
    for await (const batch of rows) {
      for (const row of batch) {
        for await (const found of walksFrom(expansion, row, direction)) {
          const kept = await qualified(search, predicates, found)
          operator.returned += kept.length
          if (kept.length > 0) yield kept
        }
      }
    }
  }
  return context.measured(walk(), operator)
}

type Direction = 'forward' | 'backward' | 'either'

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
async function* walksFrom(expansion: Expansion, row: MatchRow, direction: Direction): AsyncGenerator<MatchRow[]> {
  const { edge, from, search, place, pattern } = expansion
  const { reader } = search.context
  const start = row.slots[from.slot] as ObjectView
  const been = new Set(row.visited[place.pattern])
  const used = pattern.mode === 'trail' ? edgesUsed(row, place) : undefined
  const stack: Frame[] = [{ steps: await stepsOf(expansion, start, direction, 0), next: 0 }]
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
    if (walk.length + 1 >= edge.max && expansion.isToBound && !isBoundEnd(expansion, row, step.neighbour)) continue
    const wanted = edge.edgeObject !== undefined && step.edge.edgeData !== undefined ? [step.edge.edgeData] : []
    const [view, edgeObject] = await evaluateRows(search.context, [step.neighbour, ...wanted], (oid) =>
      reader.object(oid),
    )
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
      const pause = search.context.yieldIfDue()
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
    stack.push({ steps: await stepsOf(expansion, view, direction, walk.length), next: 0 })
  }
  if (found.length > 0) yield found
}

/** `length`: of the walk so far. */
async function stepsOf(
  { neighbours, operator, search, edge }: Expansion,
  view: ObjectView,
  direction: Direction,
  length: number,
): Promise<Step[]> {
  const place = { isFirst: length === 0, mayBeLast: length + 1 >= edge.min, mustBeLast: length + 1 >= edge.max }
  const forward = direction === 'backward' ? [] : await neighbours.forward(view, place)
  const backward = direction === 'forward' ? [] : await neighbours.backward(view, place)
  const steps = backward.length === 0 ? forward : [...forward, ...backward]
  operator.examined += steps.length
  search.context.expand(steps.length)
  const pause = search.context.yieldIfDue()
  if (pause !== undefined) await pause
  return steps
}

function edgesUsed(row: MatchRow, { pattern }: EdgePlace): Set<string> {
  return new Set((row.edges[pattern] ?? []).flatMap((edges) => (edges ?? []).map(edgeKey)))
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
  const { isToBound, to, toVertex, search, place, pattern, edge, isRightward } = expansion
  const isAgain = been.has(view.oid) && !mayBeMetAgain(pattern, toVertex)
  let next = row
  if (isToBound) {
    if (!isBoundEnd(expansion, row, view.oid)) return undefined
  } else {
    const cls = view.format?.cls
    if (isAgain || (to.cls !== null && cls?.isOrInherits(to.cls.number) !== true)) return undefined
    const bound = withVertex(search.plan, row, toVertex, view)
    if (bound === undefined) return undefined
    next = bound
  }
  const between = walk.slice(0, -1).map(({ neighbour }) => neighbour)
  const visited = next.visited.with(place.pattern, [...(next.visited[place.pattern] as readonly Oid[]), ...between])
  const walked = named(expansion, row, walk)
  const edges = isRightward ? walked : walked.reverse()
  const ofPattern = (next.edges[place.pattern] as readonly (readonly Edge[] | undefined)[]).with(place.edge, edges)
  const slots = next.slots.with(edge.slot, edge.isVariable ? edges : (walk[0]?.edgeObject ?? edges[0]))
  return [{ slots, visited, edges: next.edges.with(place.pattern, ofPattern) }]
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

/** Each pattern's walk: the edges of all its edge patterns, from left to right. Then what is asked of walks. */
async function* withWalks(
  search: Search,
  predicates: readonly PredicatePlan[],
  rows: Batches,
): AsyncGenerator<readonly MatchRow[]> {
  const { patterns } = search.plan
  const undecided = [...patterns.keys()].filter((i) => isDecidedAtEnd(patterns[i] as PatternPlan))
  for await (const batch of rows) {
    const allowed = batch.filter((row) => undecided.every((i) => isAllowed(search.plan, row, i)))
    const walked = allowed.map((row) => {
      let { slots } = row
      for (const [i, { slot, name }] of patterns.entries()) {
        if (name !== undefined)
          slots = slots.with(
            slot,
            (row.edges[i] ?? []).flatMap((edges) => edges ?? []),
          )
      }
      return { ...row, slots }
    })
    const kept = await qualified(search, predicates, walked)
    if (kept.length > 0) yield kept
  }
}
