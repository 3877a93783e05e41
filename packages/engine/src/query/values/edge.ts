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
}

/** In the order in which replies show them. */
export const edgeFields = ['from', 'fromClass', 'attribute', 'to', 'toClass'] as const
