/** The rows of MATCH: the bindings of one match so far, and how expressions read them. */
import type { Oid } from '../../types/oid.ts'
import { ObjectView } from '../evaluate/object-view.ts'
import type { RowKind } from '../execute/row.ts'
import type { Edge } from '../values/edge.ts'

/** The slots of one match, and for each pattern its vertices so far and the edges of each of its edge patterns. */
export interface MatchRow {
  readonly slots: readonly unknown[]
  readonly visited: readonly (readonly Oid[])[]
  readonly edges: readonly (readonly (readonly Edge[] | undefined)[])[]
}

export type MatchBatches = AsyncIterable<readonly MatchRow[]>

const slotBytes = 100
/** Empty because after the search only expressions read the rows. */
const noVertices: MatchRow['visited'] = []
const noEdges: MatchRow['edges'] = []

export const matchRowKind: RowKind<MatchRow> = {
  enter(evaluation, row) {
    const slots = row?.slots
    for (let i = 0; i < evaluation.slots.length; i++) evaluation.slots[i] = slots?.[i]
  },
  copy: ({ slots }) => ({ slots: slots.slice(), visited: noVertices, edges: noEdges }),
  bytesOf({ slots }) {
    let bytes = slots.length * slotBytes
    for (const value of slots) {
      if (!(value instanceof ObjectView) || value.isCharged) continue
      value.isCharged = true
      bytes += value.record.length
    }
    return bytes
  },
  toValue: ({ slots }) => slots,
  fromValue: (value) => ({ slots: value as readonly unknown[], visited: noVertices, edges: noEdges }),
}
