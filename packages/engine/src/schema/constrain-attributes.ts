/** `attributesToConstrain`: changes constraints, defaults and texts of existing attributes (contract 10.5). */
import type { StagedAttribute } from './class-batch.ts'
import { commandError } from './command-error.ts'
import type { AttributeConstraints } from './commands.ts'
import { declaredAttribute } from './declared-attribute.ts'
import { changedPropertiesOf } from './define-properties.ts'
import { hasConstraints } from './properties/change-properties.ts'
import { constrainAttribute, type Retype, type RetypeContext } from './retype-attribute.ts'
import type { ClassDraft, SchemaBuilder } from './schema-builder.ts'
import { isUniqueIn } from './unique-indexes.ts'

/** Returns the changes that stored values may violate. Throws UnknownAttribute, InvalidDefinition, AttributeInUse. */
export function constrainAttributes(
  context: RetypeContext,
  draft: ClassDraft,
  changes: readonly AttributeConstraints[],
): Retype[] {
  const { batch } = context
  const { builder } = batch
  const seen = new Set<string>()
  return changes.flatMap((change, i) => {
    const place = ['attributesToConstrain', i]
    const { attributeName: name } = change
    const attribute = declaredAttribute(builder, draft, name, [...place, 'attributeName'])
    if (seen.has(name)) {
      throw commandError('InvalidDefinition', `Class ${draft.name}: attribute ${name} is constrained twice.`, place)
    }
    seen.add(name)
    const properties = changedPropertiesOf(draft, attribute, change, place)
    if (batch.isAdded(attribute.number)) {
      attribute.properties = properties
      return []
    }
    return constrainAttribute(context, draft, attribute, properties, place) ?? []
  })
}

/** Merges the changes of each attribute into one with its final properties. */
export function withConstraints(
  retypes: readonly Retype[],
  constrained: readonly Retype[],
  builder: SchemaBuilder,
): Retype[] {
  const added = new Map(constrained.map((one) => [one.attribute, one]))
  const changed = retypes.map((retype): Retype => {
    const { becomes, isChecked, becomesUnique, gainsReferrers } = retype
    const properties = builder.declared(becomes)?.attribute.properties
    const too = added.get(becomes)
    added.delete(becomes)
    return {
      ...retype,
      properties,
      isChecked: too?.isChecked === true || (isChecked && properties?.isValidated !== false),
      becomesUnique: isUniqueIn(properties) && (becomesUnique || too?.becomesUnique === true),
      gainsReferrers: gainsReferrers || too?.gainsReferrers === true,
    }
  })
  return [...changed, ...added.values()]
}

/** Marks the constraints of new attributes as not validated, since existing objects may violate them. */
export function leaveUnvalidated(staged: readonly StagedAttribute[]): void {
  for (const { attribute, isNew } of staged) {
    const { properties } = attribute
    if (isNew && properties !== undefined && hasConstraints(properties)) {
      attribute.properties = { ...properties, isValidated: false }
    }
  }
}
