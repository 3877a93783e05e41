/** Converts the properties of attributes and classes in a batch from their definitions to the normal form and compares them with existing ones. */
import { isDeepStrictEqual } from 'node:util'
import { AshlarError, type CommandPlace, type ErrorType } from '../errors.ts'
import { formatForMessage, ValueError } from '../types/logical-type.ts'
import type { TypeSpec } from '../types/type-spec.ts'
import type { AlterAttributes, AttributeConstraints, AttributeDescription, ClassDescription } from './commands.ts'
import { attributeOf, definitionError } from './define-attribute.ts'
import {
  addChecks,
  type CheckContext,
  expressionNamesOf,
  refuseTooManyChecks,
  remainingChecks,
  settledChecks,
} from './define-checks.ts'
import { withPlaces, withTexts } from './expression.ts'
import { changeProperties, convertProperties } from './properties/change-properties.ts'
import { type Check, defineChecks } from './properties/checks.ts'
import { classPropertyDescriptions, defineClassProperties } from './properties/class-properties.ts'
import { defineProperties, type PropertiesInput, type PropertiesOfAttribute } from './properties/index.ts'
import type { ClassDraft, DraftAttribute, SchemaBuilder } from './schema-builder.ts'

const nothing: PropertiesInput = {}

/** Undefined if the description gives only the type. Throws InvalidDefinition. */
export function definePropertiesOf(
  owner: ClassDraft,
  spec: TypeSpec,
  { attributeName, properties = nothing, elementProperties = nothing }: AttributeDescription,
  place: CommandPlace,
): PropertiesOfAttribute | undefined {
  const defined = placed(attributeOf(owner.name, attributeName), place, () =>
    defineProperties(spec, !owner.isReferenceable, properties, elementProperties),
  )
  return defined && { ...defined, own: withPlaces(defined.own, place) }
}

/** Merges the given properties into those of an existing attribute. Throws InvalidDefinition. */
export function changedPropertiesOf(
  owner: ClassDraft,
  { name, spec, properties: present }: DraftAttribute,
  { properties = nothing, elementProperties = nothing }: AttributeConstraints,
  place: CommandPlace,
): PropertiesOfAttribute | undefined {
  const changed = placed(attributeOf(owner.name, name), place, () =>
    changeProperties(spec as TypeSpec, !owner.isReferenceable, present, properties, elementProperties),
  )
  return changed && { ...changed, own: withPlaces(changed.own, place) }
}

/** The properties of an attribute whose type changes. */
export interface RetypedProperties {
  /** The present ones under the new type, which stored values satisfy if they are converted without loss. */
  readonly converted: PropertiesOfAttribute | undefined
  /** `kept` merged with the given properties. */
  readonly properties: PropertiesOfAttribute | undefined
}

/** Throws InvalidDefinition. */
export function retypedProperties(
  owner: ClassDraft,
  attribute: DraftAttribute,
  to: TypeSpec,
  description: AttributeDescription,
  place: CommandPlace,
): RetypedProperties {
  const { name, spec, properties: present } = attribute
  const { properties = nothing, elementProperties = nothing } = description
  const converted = placed(attributeOf(owner.name, name), place, () =>
    convertProperties(spec as TypeSpec, to, present, properties, elementProperties),
  )
  return {
    converted,
    properties: changedPropertiesOf(owner, { ...attribute, spec: to, properties: converted }, description, place),
  }
}

/** Applies `classFields`, where null removes a field, and changes of checks. Throws InvalidDefinition. */
export function changeClassProperties(
  context: CheckContext,
  draft: ClassDraft,
  { classFields: requested = nothing, checksToAdd = [], checksToDelete = [] }: AlterAttributes,
): void {
  const place = ['classFields']
  const defined = placed(`Class ${draft.name}`, place, () =>
    defineClassProperties(requested, (name) => context.builder.findAttribute(draft, name)?.number),
  )
  const properties: Record<string, unknown> = {}
  for (const { field } of classPropertyDescriptions) {
    const value = (field in requested ? withPlaces(defined ?? {}, place) : draft.properties)?.[field]
    if (value !== undefined) properties[field] = value
  }
  const converted = remainingChecks(draft, (properties.checks as readonly Check[] | undefined) ?? [], checksToDelete)
  const added = checksToAdd.length === 0 ? [] : definedChecks(draft, checksToAdd)
  const checks = settledChecks(context, draft, [...converted, ...added])
  refuseTooManyChecks(draft, checks, place)
  delete properties.checks
  if (checks.length > 0) properties.checks = checks
  if (isDeepStrictEqual(properties, draft.properties ?? {})) return
  draft.properties = Object.keys(properties).length === 0 ? undefined : properties
  draft.isRedefined = true
}

/** Throws InvalidDefinition. */
function definedChecks(draft: ClassDraft, requested: readonly unknown[]): readonly Check[] {
  const place = ['classFields']
  const checks = placed(`Class ${draft.name}`, place, () => defineChecks(requested)) ?? []
  return withPlaces({ checks }, place).checks as readonly Check[]
}

/** Checks that an attribute listed again agrees with the existing one in each given field. Throws AttributeExists. */
export function checkSameProperties(
  builder: SchemaBuilder,
  owner: ClassDraft,
  attribute: DraftAttribute,
  description: AttributeDescription,
  place: CommandPlace,
): void {
  const defined = definePropertiesOf(owner, attribute.spec as TypeSpec, description, place)
  const what = `Class ${owner.name}: attribute ${attribute.name} exists`
  const { properties = nothing, elementProperties = nothing } = description
  const names = expressionNamesOf(builder)
  const { spec } = attribute
  const [own, present] = [withTexts(defined?.own, names, spec), withTexts(attribute.properties?.own, names, spec)]
  checkAgreement('AttributeExists', what, properties, own, present, place)
  const inner = [...place, 'elementSpecification']
  checkAgreement('AttributeExists', what, elementProperties, defined?.element, attribute.properties?.element, inner)
}

/** A new class gets the given properties; an existing one must already have them. Throws InvalidDefinition, ClassExists. */
export function setClassProperties(
  context: CheckContext,
  draft: ClassDraft,
  { properties }: ClassDescription,
  place: CommandPlace,
): void {
  if (properties === undefined) return
  const { builder } = context
  const defined = placed(`Class ${draft.name}`, place, () =>
    defineClassProperties(properties, (name) => builder.findAttribute(draft, name)?.number),
  )
  if (draft.existing === undefined) {
    draft.properties = defined && withPlaces(defined, place)
    return
  }
  const names = expressionNamesOf(builder)
  const [expected, present] = [withTexts(defined, names), withTexts(draft.properties, names)]
  const { checks: _, ...others } = properties
  checkAgreement('ClassExists', `Class ${draft.name} exists`, others, expected, present, place)
  if (defined?.checks !== undefined)
    addChecks(context, draft, withPlaces(defined, place).checks as readonly Check[], place)
}

function checkAgreement(
  type: ErrorType,
  what: string,
  requested: PropertiesInput,
  defined: PropertiesInput | undefined,
  present: PropertiesInput | undefined,
  place: CommandPlace,
): void {
  for (const field of Object.keys(requested)) {
    const [one, other] = [present?.[field], defined?.[field]]
    if (requested[field] === null || isDeepStrictEqual(one, other)) continue
    const words = one === undefined ? `without ${field}` : `with ${field} ${formatForMessage(one)}`
    const message = `${what} ${words}, not ${formatForMessage(other ?? requested[field])}.`
    throw new AshlarError(type, message, [{ place: [...place, field], message: `exists ${words}` }])
  }
}

/** Adds the place in the command to a ValueError. */
function placed<T>(what: string, place: CommandPlace, define: () => T): T {
  try {
    return define()
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    throw definitionError(error.type, what, error.message, [...place, ...error.path])
  }
}
