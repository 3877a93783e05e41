/** Expand operator: extends each row by every path along one edge pattern, from a bound vertex to the next one. */
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { BackwardSearch } from './backward-search.ts'
import { edgeInPlace } from './edge-in-place.ts'
import { arrive, type EdgeStep, type Expansion, expansionOf, isBoundEnd, stepsOf, type WalkStep } from './expansion.ts'
import type { Step } from './incident-edges.ts'
import type { MatchFlow, MatchOperator } from './match-operator.ts'
import type { MatchBatches, MatchRow } from './match-row.ts'
import { boundDetails, isBounded, PathBounds } from './path-bounds.ts'
import { edgeKey, repeatsVertices } from './path-modes.ts'
import { filterMatchRows } from './predicates.ts'
import { prefetchedRows } from './prefetch-edges.ts'

export function expand(step: EdgeStep): MatchOperator {
  return {
    run(input, flow) {
      const expansion = expansionOf(step, 'expand', input, flow, boundDetails(step))
      const { operator } = expansion
      return { rows: flow.context.measured(walked(expansion, input.rows, flow), operator), operator }
    },
    next: (flow, node) => edgeInPlace(step, flow, node),
  }
}

async function* walked(
  expansion: Expansion,
  input: MatchBatches,
  flow: MatchFlow,
): AsyncGenerator<readonly MatchRow[]> {
  const { predicates, operator, farSearch } = expansion
  const bounds = isBounded(expansion) ? new PathBounds(expansion, flow) : undefined
  try {
    for await (const batch of input) {
      for await (const rows of bounds === undefined ? prefetchedRows(expansion, batch) : [batch]) {
        // On a remote store, the next operator prefetches the edges of many rows together.
        let pending: MatchRow[] = []
        for (const row of rows) {
          for await (const found of walksFrom(expansion, row, await bounds?.of(row))) {
            const qualifying = await filterMatchRows(predicates, found, flow)
            operator.returned += qualifying.length
            if (!flow.context.isRemote) {
              if (qualifying.length > 0) yield qualifying
              continue
            }
            pending.push(...qualifying)
            if (pending.length < batchRows) continue
            yield pending
            pending = []
          }
        }
        if (pending.length > 0) yield pending
      }
    }
  } finally {
    await bounds?.close()
    await farSearch?.search.close()
  }
}

const batchRows = 256
/** Bytes of the end objects in one batch. */
const batchBytes = 4 * 2 ** 20

/** Edges followed between checks of the clock, less one; a bit mask. */
const clockCheckMask = 31

/** Approximate memory of an edge that is still to be followed. */
const stepBytes = 100

interface Frame {
  readonly steps: readonly Step[]
  next: number
}

/** The pending edges at the objects of a walk, charged while they are held. */
class Frames {
  private readonly all: Frame[] = []
  private readonly context: StatementContext

  constructor(context: StatementContext) {
    this.context = context
  }

  get last(): Frame | undefined {
    return this.all.at(-1)
  }

  /** Throws LimitExceeded and ServerBusy. */
  push(steps: readonly Step[]): void {
    this.all.push({ steps, next: 0 })
    this.context.hold(0, steps.length * stepBytes)
  }

  pop(): void {
    const frame = this.all.pop()
    this.context.hold(0, -(frame?.steps.length ?? 0) * stepBytes)
  }

  release(): void {
    while (this.all.length > 0) this.pop()
  }
}

async function* walksFrom(
  expansion: Expansion,
  row: MatchRow,
  bound: BackwardSearch | undefined,
): AsyncGenerator<MatchRow[]> {
  const frames = new Frames(expansion.context)
  try {
    yield* walksOver(frames, expansion, row, bound)
  } finally {
    frames.release()
  }
}

/** Yields every walk of the required length from the row's vertex, depth first, so only one walk is held in memory. */
async function* walksOver(
  frames: Frames,
  expansion: Expansion,
  row: MatchRow,
  bound: BackwardSearch | undefined,
): AsyncGenerator<MatchRow[]> {
  const { edge, from, isToBound, context, pattern } = expansion
  const { reader } = context
  const start = row.slots[from.slot] as ObjectView
  const visitedOids = new Set(row.visited[expansion.patternNumber])
  const used =
    pattern.mode === 'trail'
      ? new Set((row.edges[expansion.patternNumber] ?? []).flatMap((edges) => (edges ?? []).map(edgeKey)))
      : undefined
  // A walk without edges ends at its start.
  if (edge.max > 0) frames.push(await stepsOf(expansion, start, 0, bound))
  const walk: WalkStep[] = []
  let foundBytes = 0
  let followed = 0
  let found: MatchRow[] = edge.min === 0 ? (arrive(expansion, row, visitedOids, [], start) ?? []) : []
  for (let frame = frames.last; frame !== undefined; frame = frames.last) {
    const step = frame.steps[frame.next++]
    if (step === undefined) {
      frames.pop()
      const last = walk.pop()
      if (last === undefined) continue
      visitedOids.delete(last.neighbour)
      used?.delete(edgeKey(last.edge))
      continue
    }
    if (used?.has(edgeKey(step.edge)) === true) continue
    // The backward search may have advanced since the step was found.
    if (bound?.mayArrive(step.neighbour, edge.max - walk.length - 1) === false) continue
    // The last edge either leads to the bound end or fails, which its OID alone decides.
    if (walk.length + 1 >= edge.max && isToBound && !isBoundEnd(expansion, row, step.neighbour)) continue
    // Possibly none of the edges leads to a row, so the loop itself must yield.
    if ((++followed & clockCheckMask) === 0 && context.isYieldDue) await context.yieldToEventLoop()
    const edgeObjectOids = edge.edgeObject !== undefined && step.edge.edgeData !== undefined ? [step.edge.edgeData] : []
    const [view, edgeObject] = await evaluateRows(context, [step.neighbour, ...edgeObjectOids], (oid) =>
      reader.object(oid),
    )
    if (view?.format === undefined) continue
    const { edge: stepEdge, neighbour, place } = step
    walk.push({ edge: stepEdge, neighbour, place, neighbourClass: view.format.cls.name, edgeObject })
    const mayArrive = walk.length >= edge.min && step.place !== 'inner'
    const arrived = mayArrive ? arrive(expansion, row, visitedOids, walk, view) : undefined
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
    const isVisited = visitedOids.has(view.oid) || isBoundEnd(expansion, row, view.oid)
    const isEnd = walk.length >= edge.max || step.place === 'last'
    if (isEnd || (isVisited && !repeatsVertices(pattern.mode))) {
      walk.pop()
      continue
    }
    visitedOids.add(view.oid)
    used?.add(edgeKey(step.edge))
    frames.push(await stepsOf(expansion, view, walk.length, bound))
  }
  if (found.length > 0) yield found
}
