/** Checks of a schema change on all existing objects that do not depend on their stored values (contract 10.5). */
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'
import type { StagedAttribute } from './class-batch.ts'
import type { ClassDraft } from './schema-builder.ts'
import { isUniqueIn, type UniqueKey } from './unique-indexes.ts'

/** A new attribute of a class that may have objects: their initial value must satisfy its constraints. */
export interface Addition {
  readonly attribute: AttributeNumber
  readonly owner: ClassNumber
}

export interface ExtentChecks {
  readonly additions: readonly Addition[]
  /** Classes that become abstract: they must have no objects. */
  readonly abstractClasses: readonly ClassNumber[]
}

export const noExtentChecks: ExtentChecks = { additions: [], abstractClasses: [] }

export function additionsTo(draft: ClassDraft, staged: readonly StagedAttribute[]): Addition[] {
  if (draft.existing === undefined) return []
  return staged.flatMap(({ attribute, isNew }) => {
    return isNew ? [{ attribute: attribute.number, owner: draft.number }] : []
  })
}

/** New attributes that are unique. */
export function newKeysOf(draft: ClassDraft, staged: readonly StagedAttribute[]): UniqueKey[] {
  return staged.flatMap(({ attribute: { number, spec, properties }, isNew }) => {
    const isKey = isNew && spec !== undefined && isUniqueIn(properties)
    return isKey ? [{ attribute: number, spec, owner: draft.number }] : []
  })
}
