/**
 * The shortest paths along one edge pattern, from a bound vertex to each reachable one, or to a given one. The search
 * is breadth first, so each object is visited at one length only.
 */

import type { Oid } from '../../types/oid.ts'
import type { BoundEdge, BoundPattern } from '../bind/bind-match.ts'
import { endsAtEdgeObject } from '../bind/reference-attributes.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { elementBytes } from '../evaluate/value-bytes.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import { arrive, type EdgeStep, type Expansion, expansionOf, mayBeEnd, stepsOf, type Taken } from './expansion.ts'
import type { MatchFlow, MatchOperator } from './match-operator.ts'
import type { MatchBatches, MatchRow } from './match-row.ts'
import type { Step } from './neighbours.ts'
import { type PredicatePlan, qualified } from './predicates.ts'

/**
 * Whether the shortest paths of the pattern can be found so: it is one edge pattern, of whose walk nothing is asked, and each beginning of a shortest path
 * is one itself.
 */
export function isBreadthFirst(
  { slot, selection, mode, edges }: BoundPattern,
  predicates: Iterable<PredicatePlan>,
): boolean {
  const [edge, another] = edges
  if (selection === undefined || selection.kind === 'shortest' || edge === undefined || another !== undefined)
    return false
  if (edge.min > 1 || edge.edgeObject !== undefined || isSplit(edge)) return false
  // Back over the edge by which it came, it would be a shortest walk to where it began.
  if (mode === 'trail' && edge.direction === 'either') return false
  for (const { isOfPattern, needs } of predicates)
    if (isOfPattern && (needs.has(edge.slot) || needs.has(slot))) return false
  return true
}

/** An edge leads elsewhere as the first or last of a walk than within it. */
function isSplit({ attributes, leftLabel, rightLabel }: BoundEdge): boolean {
  return attributes.some((one) => {
    return one.edge !== undefined && (endsAtEdgeObject(one, leftLabel) || endsAtEdgeObject(one, rightLabel))
  })
}

export function shortestPaths(step: EdgeStep): MatchOperator {
  return {
    run(input, flow) {
      const expansion = expansionOf(step, 'shortestPaths', input, flow)
      const { operator } = expansion
      return { rows: flow.context.measured(found(expansion, input.rows, flow), operator), operator }
    },
  }
}

async function* found(expansion: Expansion, input: MatchBatches, flow: MatchFlow): AsyncGenerator<readonly MatchRow[]> {
  const { predicates, operator, context } = expansion
  for await (const batch of input) {
    for (const row of batch) {
      const known = new Map<Oid, Reached>()
      for await (const rows of rowsFrom(expansion, row, known)) {
        const kept = await qualified(predicates, rows, flow)
        operator.returned += kept.length
        if (kept.length > 0) yield kept
      }
      context.hold(-known.size, -known.size * reachedBytes)
    }
  }
}

/** An object that was reached, and by which last edges at its length; none of the object at which the search begins. */
interface Reached {
  readonly oid: Oid
  readonly length: number
  view: ObjectView | undefined
  readonly by: { readonly before: Reached; readonly step: Step }[]
}

const reachedBytes = 200
const rowsAtOnce = 256
const looksBetweenTurns = 4_096
/** Objects that are read at once. */
const objectsAtOnce = 256

/** `known`: what has been reached. */
async function* rowsFrom(expansion: Expansion, row: MatchRow, known: Map<Oid, Reached>): AsyncGenerator<MatchRow[]> {
  const { edge, from, isToBound, context } = expansion
  const start = row.slots[from.slot] as ObjectView
  const begin: Reached = { oid: start.oid, length: 0, view: start, by: [] }
  known.set(start.oid, begin)
  context.hold(1, reachedBytes)
  if (edge.min === 0) {
    const rows = arrive(expansion, row, new Set(row.visited[expansion.patternNumber]), [], start)
    if (rows !== undefined) yield rows
    if (rows !== undefined && isToBound) return
  }
  let hasReturned = edge.min === 0
  let frontier: readonly Reached[] = [begin]
  for (let length = 1; length <= edge.max && frontier.length > 0; length++) {
    const level = await nextLevel(expansion, frontier, known, length)
    // The first return to where it began is a path of its own, beyond which nothing new is found.
    const back = hasReturned ? undefined : level.returned
    hasReturned ||= back !== undefined
    const ends = back === undefined ? level.reached : [...level.reached, back]
    let isFound = false
    for await (const rows of pathsTo(expansion, row, ends)) {
      isFound = true
      yield rows
    }
    if (isFound && isToBound) return
    frontier = level.reached
  }
}

interface Level {
  readonly reached: readonly Reached[]
  readonly returned: Reached | undefined
}

/** What is met for the first time, and the ways back to the beginning. */
async function nextLevel(
  expansion: Expansion,
  frontier: readonly Reached[],
  known: Map<Oid, Reached>,
  length: number,
): Promise<Level> {
  const { context, pattern } = expansion
  const isOne = pattern.selection?.kind !== 'allShortest'
  const reached: Reached[] = []
  let returned: Reached | undefined
  let looked = 0
  const begin = known.values().next().value as Reached
  for (const before of frontier) {
    for (const step of await stepsOf(expansion, before.view as ObjectView, length - 1)) {
      let at = known.get(step.neighbour)
      if (at === begin) {
        returned ??= { oid: begin.oid, length, view: begin.view, by: [] }
        at = returned
      } else if (at === undefined) {
        context.hold(1, reachedBytes)
        at = { oid: step.neighbour, length, view: undefined, by: [] }
        known.set(step.neighbour, at)
        reached.push(at)
      }
      if (at.length === length && (at.by.length === 0 || !isOne)) {
        if (at.by.length > 0) context.hold(0, elementBytes)
        at.by.push({ before, step })
      }
      if (++looked % looksBetweenTurns > 0) continue
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }
  return { reached: await existing(reached, expansion), returned }
}

/** Those that there are, with their objects. */
async function existing(reached: readonly Reached[], { context }: Expansion): Promise<Reached[]> {
  const { reader } = context
  const all: Reached[] = []
  for (let at = 0; at < reached.length; at += objectsAtOnce) {
    const some = reached.slice(at, at + objectsAtOnce)
    const views = await evaluateRows(context, some, ({ oid }) => reader.object(oid))
    for (const [i, one] of some.entries()) {
      const view = views[i]
      if (view?.format === undefined) continue
      one.view = view
      all.push(one)
    }
  }
  return all
}

/** The rows of the paths to each of them that may be an end. */
async function* pathsTo(expansion: Expansion, row: MatchRow, ends: readonly Reached[]): AsyncGenerator<MatchRow[]> {
  const { context, patternNumber } = expansion
  const been = new Set(row.visited[patternNumber])
  let rows: MatchRow[] = []
  for (const [i, end] of ends.entries()) {
    const turn = i % rowsAtOnce === 0 ? context.yieldIfDue() : undefined
    if (turn !== undefined) await turn
    // Before its walks are made: most objects on the way are of another class than the end.
    if (!mayBeEnd(expansion, row, end.oid, end.view as ObjectView)) continue
    for (const walk of walksTo(end)) {
      const arrived = arrive(expansion, row, been, walk, end.view as ObjectView)
      // No other path to it does then.
      if (arrived === undefined) break
      rows.push(...arrived)
      if (rows.length < rowsAtOnce) continue
      yield rows
      rows = []
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }
  if (rows.length > 0) yield rows
}

/** The edges of a walk from one of its vertices on. */
interface RestOfWalk {
  readonly first: Taken
  readonly others: RestOfWalk | undefined
}

/** From the beginning, each by other edges; `rest`: from `end` on. */
function* walksTo(end: Reached, rest?: RestOfWalk): Generator<Taken[]> {
  if (end.length === 0) {
    const walk: Taken[] = []
    for (let at = rest; at !== undefined; at = at.others) walk.push(at.first)
    yield walk
    return
  }
  const neighbourClass = end.view?.format?.cls.name ?? ''
  for (const { before, step } of end.by) {
    const { edge, neighbour, place } = step
    yield* walksTo(before, { first: { edge, neighbour, place, neighbourClass, edgeObject: undefined }, others: rest })
  }
}
