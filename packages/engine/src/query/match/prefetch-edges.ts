/** On a remote store, reads the edges at many objects together before they are followed one object after another. */
import type { Oid } from '../../types/oid.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { Expansion } from './expansion.ts'
import type { MatchRow } from './match-row.ts'

/** Rows whose edges are read together; few at first, because perhaps no more are requested. */
const rowsAtFirst = 8
const rowsFactor = 4
/** Edges of one batch of rows that are prefetched. */
const edgesAhead = 4_096

/** Yields the rows in batches whose walks have been prefetched. */
export async function* prefetchedRows(
  expansion: Expansion,
  rows: readonly MatchRow[],
): AsyncGenerator<readonly MatchRow[]> {
  if (!expansion.context.isRemote) {
    yield rows
    return
  }
  for (let at = 0, size = rowsAtFirst; at < rows.length; at += size, size *= rowsFactor) {
    const part = rows.slice(at, at + size)
    await prefetchWalks(expansion, part)
    yield part
  }
}

async function prefetchWalks(
  { context, from, edge, isToBound, edges, farSearch }: Expansion,
  rows: readonly MatchRow[],
): Promise<void> {
  const { reader } = context
  const reached = new Map<Oid, ObjectView>()
  for (const { slots } of rows) {
    const view = slots[from.slot] as ObjectView
    reached.set(view.oid, view)
  }
  let views = [...reached.values()]
  let edgesRead = 0
  for (let length = 0; length < edge.max && views.length > 0; length++) {
    if (farSearch?.search.isExplored(farSearch.place) !== true) await edges.prefetch(views, length)
    const isLast = length + 1 === edge.max
    // The last edge leads to the bound end or nowhere.
    if (isLast && isToBound) return
    const next = new Set<Oid>()
    for (const view of views) {
      const steps = farSearch?.search.exploredSteps(farSearch.place, view) ?? (await edges.at(view, length))
      for (const { neighbour } of steps) if (!reached.has(neighbour)) next.add(neighbour)
      edgesRead += steps.length
      if (edgesRead > edgesAhead) return
    }
    const read = await evaluateRows(context, [[...next]], (oids) => {
      reader.prefetch(oids)
      return oids.map((oid) => reader.object(oid))
    })
    views = (read[0] ?? []).filter(({ format }) => format !== undefined)
    for (const view of views) reached.set(view.oid, view)
  }
}
