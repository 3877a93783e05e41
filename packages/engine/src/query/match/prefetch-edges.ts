/**
 * Where each read is a trip, the edges at many objects are read together: the objects from which a search goes on, and then those that it comes to.
 * What was read is found by whoever follows the edges one object after the other.
 */
import type { Oid } from '../../types/oid.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { Prefetch } from './breadth-first.ts'
import { edgesAt } from './edge-ends.ts'
import type { Expansion } from './expansion.ts'
import type { MatchRow } from './match-row.ts'
import type { StepPlace } from './neighbours.ts'
import type { WayBack } from './reach.ts'

/** Rows whose edges are read together: at first few, since perhaps no more are taken. */
const rowsAtFirst = 8
const rowsFactor = 4
/** So many edges of one part of the rows are looked at ahead. */
const edgesAhead = 4_096

/** Undefined where reads are no trips. */
export function prefetchOf({ context, neighbours, direction, edge }: Expansion): Prefetch | undefined {
  if (!context.isRemote) return undefined
  return (views, length) => neighbours.prefetch(views, direction, placeOf(edge, length))
}

/** The same for edges that are followed back. */
export function prefetchBack({ neighbours, direction, max, flow }: WayBack): Prefetch | undefined {
  if (!flow.context.isRemote) return undefined
  return (views, length) => neighbours.prefetch(views, direction, placeOf({ min: 1, max }, length))
}

/** The rows in parts, of each of which the walks have been looked at ahead. */
export async function* prefetchedRows(
  expansion: Expansion,
  rows: readonly MatchRow[],
): AsyncGenerator<readonly MatchRow[]> {
  const prefetch = prefetchOf(expansion)
  if (prefetch === undefined) {
    yield rows
    return
  }
  for (let at = 0, size = rowsAtFirst; at < rows.length; at += size, size *= rowsFactor) {
    const part = rows.slice(at, at + size)
    await prefetchWalks(expansion, part, prefetch)
    yield part
  }
}

async function prefetchWalks(expansion: Expansion, rows: readonly MatchRow[], prefetch: Prefetch): Promise<void> {
  const { context, from, edge, isToBound, neighbours, direction, far } = expansion
  const { reader } = context
  const met = new Map<Oid, ObjectView>()
  for (const { slots } of rows) {
    const view = slots[from.slot] as ObjectView
    met.set(view.oid, view)
  }
  let views = [...met.values()]
  let edges = 0
  for (let length = 0; length < edge.max && views.length > 0; length++) {
    if (far?.side.isKnown(far.number) !== true) await prefetch(views, length)
    const isLast = length + 1 === edge.max
    // The last edge leads to a known end or nowhere.
    if (isLast && isToBound) return
    const next = new Set<Oid>()
    for (const view of views) {
      const known = far?.side.knownSteps(far.number, view)
      const steps = known ?? (await edgesAt(neighbours, direction, view, placeOf(edge, length)))
      for (const { neighbour } of steps) if (!met.has(neighbour)) next.add(neighbour)
      edges += steps.length
      if (edges > edgesAhead) return
    }
    const read = await evaluateRows(context, [[...next]], (oids) => {
      reader.prefetch(oids)
      return oids.map((oid) => reader.object(oid))
    })
    views = (read[0] ?? []).filter(({ format }) => format !== undefined)
    for (const view of views) met.set(view.oid, view)
  }
}

function placeOf({ min, max }: { readonly min: number; readonly max: number }, length: number): StepPlace {
  return { isFirst: length === 0, mayBeLast: length + 1 >= min, mustBeLast: length + 1 >= max }
}
