/** Checks of a schema change on all existing objects that do not depend on their stored values (contract 10.5). */
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'
import type { StagedAttribute } from './class-batch.ts'
import { commandError } from './command-error.ts'
import { allAttributes, type ClassDraft, type SchemaBuilder, selfAndAncestors } from './schema-builder.ts'
import { isUniqueIn, type UniqueAttribute } from './unique-indexes.ts'

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

/** Without validation, only what embeds objects: the constraints of these are not those of the change. */
export function additionsTo(draft: ClassDraft, staged: readonly StagedAttribute[], isValidating: boolean): Addition[] {
  if (draft.existing === undefined) return []
  return staged.flatMap(({ attribute: { number, spec }, isNew }) => {
    return isNew && (isValidating || spec?.logicalType === 'object') ? [{ attribute: number, owner: draft.number }] : []
  })
}

/** New attributes that are unique. */
export function newKeysOf(draft: ClassDraft, staged: readonly StagedAttribute[]): UniqueAttribute[] {
  return staged.flatMap(({ attribute: { number, spec, properties }, isNew }) => {
    const isKey = isNew && spec !== undefined && isUniqueIn(properties)
    return isKey ? [{ attribute: number, spec, owner: draft.number }] : []
  })
}

/**
 * The objects that a new attribute puts into existing ones would escape a change of their class that is under way. Throws
 * AttributeInUse.
 */
export function refuseChangingParts(
  builder: SchemaBuilder,
  draft: ClassDraft,
  staged: readonly StagedAttribute[],
): void {
  if (draft.existing === undefined) return
  for (const { attribute, isNew, place } of staged) {
    const { name, spec } = attribute
    if (!isNew || spec?.logicalType !== 'object') continue
    const changing = embeddedFromStart(builder, spec.class).find(isChanging)
    if (changing === undefined) continue
    const message = `Class ${draft.name}: attribute ${name} would embed objects of class ${changing.name}, which is being changed by another request.`
    throw commandError('AttributeInUse', message, place)
  }
}

function isChanging(draft: ClassDraft): boolean {
  return selfAndAncestors(draft).some(({ pendingChecks, attributes }) => {
    return pendingChecks.length > 0 || [...attributes.values()].some(({ pendingType }) => pendingType !== undefined)
  })
}

/** The class and those of the objects that its objects embed from the start. */
function embeddedFromStart(builder: SchemaBuilder, number: ClassNumber): ClassDraft[] {
  const found = new Set([builder.get(number)])
  for (const draft of found) {
    for (const { spec } of allAttributes(draft)) {
      if (spec?.logicalType === 'object') found.add(builder.get(spec.class))
    }
  }
  return [...found]
}
