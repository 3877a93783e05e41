/** An edge of a walk: a reference held by an object. */
import type { Oid } from '../../types/oid.ts'
import type { AttributeNumber } from '../../types/type-spec.ts'

export interface Edge {
  readonly from: Oid
  readonly fromClass: string
  readonly attribute: string
  readonly attributeNumber: AttributeNumber
  readonly to: Oid
  readonly toClass: string
  /** Set if the attribute holds edge objects: the edge object through which the edge leads, and its class. */
  readonly edgeData?: Oid
  readonly edgeDataClass?: string
}

/** Fields of an edge in the order of replies. */
export const edgeFields = ['from', 'fromClass', 'attribute', 'to', 'toClass', 'edgeData', 'edgeDataClass'] as const
