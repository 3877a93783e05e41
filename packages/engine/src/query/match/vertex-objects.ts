/** Reads the given objects and returns the ones that exist, are of the vertex's class and satisfy its conditions. */
import type { Oid } from '../../types/oid.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { MatchFlow } from './match-operator.ts'
import { filterMatchRows } from './predicates.ts'
import type { VertexPlan } from './vertices.ts'

export async function existingObjects(oids: readonly Oid[], context: StatementContext): Promise<ObjectView[]> {
  const views = await evaluateRows(context, oids, (oid) => context.reader.object(oid))
  return views.filter(({ format }) => format !== undefined)
}

export async function vertexObjects(vertex: VertexPlan, oids: readonly Oid[], flow: MatchFlow): Promise<ObjectView[]> {
  const { cls, slot, checked } = vertex
  const views = await existingObjects(oids, flow.context)
  const inClass = cls === null ? views : views.filter(({ format }) => format?.cls.isOrInherits(cls.number))
  const rows = inClass.map((view) => {
    const slots: unknown[] = []
    slots[slot] = view
    return { slots, visited: [], edges: [] }
  })
  const qualifying = await filterMatchRows([...checked], rows, flow)
  return qualifying.map(({ slots }) => slots[slot] as ObjectView)
}
