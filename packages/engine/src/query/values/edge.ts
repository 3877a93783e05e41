/** One edge of a walk: a reference that an object holds. */
import type { Oid } from '../../types/oid.ts'
import type { AttributeNumber } from '../../types/type-spec.ts'

export interface Edge {
  readonly from: Oid
  readonly fromClass: string
  /** The name of the attribute that holds the reference. */
  readonly attribute: string
  readonly attributeNumber: AttributeNumber
  readonly to: Oid
  readonly toClass: string
  /** Where the attribute holds edge objects, and the edge leads through one to the object behind: that one, and its class. */
  readonly edgeData?: Oid
  readonly edgeDataClass?: string
}

/** In the order in which replies show those that the edge has. */
export const edgeFields = ['from', 'fromClass', 'attribute', 'to', 'toClass', 'edgeData', 'edgeDataClass'] as const
