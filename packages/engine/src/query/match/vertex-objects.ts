/** Those of given objects that a vertex may have: of its class, and satisfying its own conditions. */
import type { Oid } from '../../types/oid.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { MatchFlow } from './match-operator.ts'
import { qualified } from './predicates.ts'
import type { VertexPlan } from './vertices.ts'

export async function vertexObjects(vertex: VertexPlan, oids: readonly Oid[], flow: MatchFlow): Promise<ObjectView[]> {
  const { context } = flow
  const { reader } = context
  const views = await evaluateRows(context, oids, (oid) => reader.object(oid))
  const ofClass = views.filter((view): view is ObjectView => {
    const cls = view?.format?.cls
    return cls !== undefined && (vertex.cls === null || cls.isOrInherits(vertex.cls.number))
  })
  const rows = ofClass.map((view) => {
    const slots: unknown[] = []
    slots[vertex.slot] = view
    return { slots, visited: [], edges: [] }
  })
  const kept = await qualified([...vertex.checked], rows, flow)
  return kept.map(({ slots }) => slots[vertex.slot] as ObjectView)
}
