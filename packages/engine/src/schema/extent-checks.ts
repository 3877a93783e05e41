/** What a change of classes asks of all objects that there are, and that cannot be told by what they hold (contract 10.5). */
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'
import type { StagedAttribute } from './class-batch.ts'
import type { ClassDraft } from './schema-builder.ts'
import { isUniqueIn, type UniqueKey } from './unique-indexes.ts'

/** An attribute that a class gets which may have objects: these satisfy its constraints by what they are given. */
export interface Addition {
  readonly attribute: AttributeNumber
  readonly owner: ClassNumber
}

/** A check of a class that may have objects. */
export interface NewCheck {
  readonly owner: ClassNumber
  readonly name: string
}

export interface ExtentChecks {
  readonly newChecks: readonly NewCheck[]
  readonly additions: readonly Addition[]
  /** Classes that become abstract: they have no objects of their own. */
  readonly abstractClasses: readonly ClassNumber[]
}

export const noExtentChecks: ExtentChecks = { additions: [], abstractClasses: [], newChecks: [] }

export function additionsTo(draft: ClassDraft, staged: readonly StagedAttribute[]): Addition[] {
  if (draft.existing === undefined) return []
  return staged.flatMap(({ attribute, isNew }) => {
    return isNew ? [{ attribute: attribute.number, owner: draft.number }] : []
  })
}

/** Checks that existing classes get. */
export function newChecksOf({ number, existing, newChecks }: ClassDraft): NewCheck[] {
  return existing === undefined ? [] : newChecks.map((name) => ({ owner: number, name }))
}

/** New attributes that are unique. */
export function newKeysOf(draft: ClassDraft, staged: readonly StagedAttribute[]): UniqueKey[] {
  return staged.flatMap(({ attribute: { number, spec, properties }, isNew }) => {
    const isKey = isNew && spec !== undefined && isUniqueIn(properties)
    return isKey ? [{ attribute: number, spec, owner: draft.number }] : []
  })
}
