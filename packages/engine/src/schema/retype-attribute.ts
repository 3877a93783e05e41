/** Changes the type of an attribute as part of a command that changes classes (contract 5.3.9, 5.3.19, 5.3.21). */
import { isDeepStrictEqual } from 'node:util'
import type { AshlarError, CommandPlace } from '../errors.ts'
import { dependsOnRules } from '../types/conversion.ts'
import type { AttributeNumber, ClassNumber, ReferenceSpec, TypeSpec } from '../types/type-spec.ts'
import type { Catalog } from './catalog.ts'
import type { ClassBatch, StagedAttribute } from './class-batch.ts'
import type { Attribute } from './class-definition.ts'
import { commandError } from './command-error.ts'
import { defineAttribute, formatTypeForMessage } from './define-attribute.ts'
import type { RetypedProperties } from './define-properties.ts'
import { isPairing, type Pairing } from './pairing.ts'
import type { PreparedParts } from './pending-checks.ts'
import { hasConstraints, isSurelyLooser } from './properties/change-properties.ts'
import type { PropertiesOfAttribute } from './properties/index.ts'
import { needsReferrers } from './referrer-indexes.ts'
import { isSameButForInverse, type RetypeWork, retypeWork } from './retype.ts'
import { type ClassDraft, type DraftAttribute, referenceIn, type SchemaBuilder } from './schema-builder.ts'
import { isUniqueIn } from './unique-indexes.ts'

/** An attribute whose type or constraints change. */
export interface Retype {
  readonly attribute: AttributeNumber
  /** A new number if stored data is moved; otherwise the same. */
  readonly becomes: AttributeNumber
  /** The class that declares it. */
  readonly owner: ClassNumber
  readonly name: string
  readonly from: TypeSpec
  readonly to: TypeSpec
  readonly work: RetypeWork
  /** The new properties. */
  readonly properties: PropertiesOfAttribute | undefined
  /** Stored values are checked against their constraints. */
  readonly isChecked: boolean
  /** Not included in the present properties. */
  readonly becomesUnique: boolean
  /** Stored references are entered in a referrer index, which the attribute does not have yet. */
  readonly gainsReferrers: boolean
  /** Checks that stored objects satisfy name the attribute, and its values become others (`rechecked-checks.ts`). */
  readonly isNamed?: true
}

export interface RetypeContext {
  readonly catalog: Catalog
  readonly batch: ClassBatch
  /** The pending parts of this change. */
  readonly prepared: PreparedParts | undefined
  /** See `AlterSettings`; absent: true. */
  readonly isValidating?: boolean
}

/** Undefined if the type is the same and stored values cannot violate the new constraints. Throws InvalidDefinition, AttributeInUse. */
export function retypeAttribute(
  context: RetypeContext,
  draft: ClassDraft,
  attribute: DraftAttribute,
  to: TypeSpec,
  { converted, properties }: RetypedProperties,
  place: CommandPlace,
): Retype | undefined {
  const { catalog, batch } = context
  const { builder } = batch
  const { name, number } = attribute
  refuseChanging(context, draft, attribute, place)
  refuseComputedOrNot(draft, attribute, properties, place)
  const from = attribute.spec as TypeSpec
  if (isDeepStrictEqual(from, to)) return constrainAttribute(context, draft, attribute, properties, place)
  const gained = inverseGained(from, to)
  if (gained !== null) refuseExistingInverse(batch, draft, name, gained, place)
  const work = retypeWork(from, to, (one, other) => catalog.classByNumber(one)?.isOrInherits(other) === true)
  // Moved elements in embedded objects could not be found by the attribute's old number.
  const isPossible = work !== undefined && (work.kind !== 'move' || draft.isReferenceable)
  if (!isPossible) throw notConvertible(builder, draft, name, place, from, to)
  refuseUnlessKey(catalog, draft, attribute, place, to)
  draft.needsNewShape = true
  const becomes = work.kind === 'move' ? (batch.nextAttribute++ as AttributeNumber) : number
  const conversion = work.kind !== 'move' && dependsOnRules(from, to) ? 'strict' : undefined
  const isLossless = work.kind === 'none' || (work.kind === 'convert' && work.conversion.isLossless)
  const isSafe = isLossless && isSurelyLooser(to, converted, properties)
  const settled = isSafe ? properties : settledProperties(properties, context)
  builder.replaceAttribute(draft, attribute, {
    ...attribute,
    number: becomes,
    spec: to,
    properties: settled,
    // A moved attribute gets new referrer entries.
    referrers: becomes === number ? attribute.referrers : undefined,
    pendingType: undefined,
    conversion,
    place,
  })
  const isChecked = !isSafe && settled !== undefined && settled.isValidated !== false && hasConstraints(settled)
  const becomesUnique = isUniqueIn(settled) && !isUniqueIn(attribute.properties)
  const gainsReferrers = becomes === number && needsMoreReferrers(attribute, to, settled)
  const of = { attribute: number, becomes, owner: draft.number, name, from, to, work }
  return { ...of, properties: settled, isChecked, becomesUnique, gainsReferrers }
}

function needsMoreReferrers(
  { referrers }: DraftAttribute,
  spec: TypeSpec,
  properties: PropertiesOfAttribute | undefined,
): boolean {
  return referrers === undefined && properties !== undefined && needsReferrers({ spec, properties })
}

/** Changes the properties of an attribute under its type. Undefined if no stored value could violate the new constraints. Throws AttributeInUse. */
export function constrainAttribute(
  context: RetypeContext,
  draft: ClassDraft,
  attribute: DraftAttribute,
  requested: PropertiesOfAttribute | undefined,
  place: CommandPlace,
): Retype | undefined {
  const { name, number, properties: present } = attribute
  if (isDeepStrictEqual(present, requested) && attribute.pendingType === undefined) return undefined
  refuseChanging(context, draft, attribute, place)
  refuseComputedOrNot(draft, attribute, requested, place)
  const spec = attribute.spec as TypeSpec
  const isLooser = isSurelyLooser(spec, present, requested)
  const properties = isLooser ? requested : settledProperties(requested, context)
  context.batch.builder.replaceAttribute(draft, attribute, { ...attribute, properties, pendingType: undefined, place })
  draft.isRedefined = true
  const isChecked = !isLooser && context.isValidating !== false
  const becomesUnique = isUniqueIn(properties) && !isUniqueIn(present)
  const gainsReferrers = needsMoreReferrers(attribute, spec, properties)
  if (!isChecked && !becomesUnique && !gainsReferrers) return undefined
  const of = { attribute: number, becomes: number, owner: draft.number, name, from: spec, to: spec }
  return { ...of, work: { kind: 'constrain' }, properties, isChecked, becomesUnique, gainsReferrers }
}

/** Throws InvalidDefinition if an attribute becomes computed or ceases to be: its values would be lost, or made up. */
function refuseComputedOrNot(
  draft: ClassDraft,
  { name, properties: present }: DraftAttribute,
  requested: PropertiesOfAttribute | undefined,
  place: CommandPlace,
): void {
  const isComputed = present?.own.computed !== undefined
  if (isComputed === (requested?.own.computed !== undefined)) return
  const rule = isComputed ? 'is computed and remains so' : 'has values of its own and cannot become computed'
  const message = `Attribute ${name} of class ${draft.name} ${rule}: delete it, and add another one.`
  throw commandError('InvalidDefinition', message, [...place, 'computed'])
}

/** The change validates all constraints of the attribute or none, regardless of previous validation. */
function settledProperties(
  properties: PropertiesOfAttribute | undefined,
  { isValidating = true }: RetypeContext,
): PropertiesOfAttribute | undefined {
  if (properties === undefined || !hasConstraints(properties)) return properties
  const { isValidated: _, ...validated } = properties
  return isValidating ? validated : { ...validated, isValidated: false }
}

/**
 * A reference that is listed again may gain an inverse that the command adds (contract 5.1.30). Runs before the types of the
 * command are defined, since it may give the attribute another number.
 */
export function addInverses(context: RetypeContext, draft: ClassDraft, staged: readonly StagedAttribute[]): Retype[] {
  const { builder } = context.batch
  return staged.flatMap(({ description, place, attribute, isNew }) => {
    const { type } = description
    const inverse = (type.elementSpecification ?? type).inverseAttribute
    const namesInverse = typeof inverse === 'string' && inverse !== ''
    if (isNew || !namesInverse || referenceIn(attribute.spec)?.inverseAttribute !== null) return []
    const to = defineAttribute(builder, draft, description, place)
    if (!isSameButForInverse(attribute.spec, to)) return []
    const { properties } = attribute
    return retypeAttribute(context, draft, attribute, to, { converted: properties, properties }, place) ?? []
  })
}

/** The pairings among `retypes` that are made online, after all types of the command are defined. */
export function pairingsOf(builder: SchemaBuilder, retypes: readonly Retype[]): Pairing[] {
  return retypes.flatMap(({ attribute, owner, to, work }) => {
    const inverse = work.kind === 'pair' ? referenceIn(to)?.inverseAttribute : undefined
    const partner = inverse === undefined || inverse === null ? undefined : builder.declared(inverse)
    if (partner === undefined) return []
    const { number, name, spec } = partner.attribute as Attribute
    return [{ attribute, owner, inverse: { number, name, spec }, inverseOwner: partner.owner.number }]
  })
}

/** Throws AttributeInUse if another request is giving the reference an inverse. */
export function refusePairing(draft: ClassDraft, attribute: DraftAttribute, place: CommandPlace): void {
  if (isPairing(attribute.pendingType)) throw changingByAnother(draft, attribute.name, place)
}

/** Throws AttributeInUse if another request is changing the attribute. */
function refuseChanging(
  { prepared }: RetypeContext,
  draft: ClassDraft,
  { pendingType, number, name }: DraftAttribute,
  place: CommandPlace,
): void {
  if (pendingType !== undefined && prepared?.attributes.has(number) !== true)
    throw changingByAnother(draft, name, place)
}

function changingByAnother({ name }: ClassDraft, attribute: string, place: CommandPlace): AshlarError {
  const message = `Attribute ${attribute} of class ${name} is being changed by another request.`
  return commandError('AttributeInUse', message, place)
}

/** The inverse that only the new type has; null if there is none. */
function inverseGained(from: TypeSpec, to: TypeSpec): AttributeNumber | null {
  const [one, other] = [referenceIn(from), referenceIn(to)]
  return one?.inverseAttribute === null ? (other?.inverseAttribute ?? null) : null
}

/** Links of an existing attribute could contradict the references. */
function refuseExistingInverse(
  batch: ClassBatch,
  draft: ClassDraft,
  name: string,
  inverse: AttributeNumber,
  place: CommandPlace,
): void {
  if (batch.isAdded(inverse)) return
  const partner = batch.builder.declared(inverse)
  const existing = `attribute ${partner?.attribute.name} of class ${partner?.owner.name}`
  const message = `Class ${draft.name}: attribute ${name} cannot be given ${existing} as inverse, which exists already. An inverse is added, under a new name, by the request that gives it to the reference.`
  throw commandError('InvalidDefinition', message, place)
}

function notConvertible(
  builder: SchemaBuilder,
  draft: ClassDraft,
  attributeName: string,
  place: CommandPlace,
  from: TypeSpec,
  to: TypeSpec,
): AshlarError {
  const [one, other] = [formatTypeForMessage(builder, from), formatTypeForMessage(builder, to)]
  const inverses = [from, to].map((spec) => (referenceIn(spec) as ReferenceSpec | undefined)?.inverseAttribute ?? null)
  const advice =
    inverses[0] === inverses[1]
      ? 'an attribute can be added, filled and take its place'
      : 'an inverse is added or removed by a separate change, which leaves the rest of the type unchanged'
  const message = `Class ${draft.name}: attribute ${attributeName} cannot be changed from ${one} to ${other}; ${advice}.`
  return commandError('InvalidDefinition', message, place)
}

/** The key attributes of an index must remain indexable. */
function refuseUnlessKey(
  catalog: Catalog,
  draft: ClassDraft,
  { number, name }: DraftAttribute,
  place: CommandPlace,
  to: TypeSpec,
): void {
  if (!['list', 'set', 'map', 'object', 'json'].includes(to.logicalType)) return
  const index = catalog.indexes.find(({ attribute, keyAttributes }) => {
    // The index that enforces uniqueness is dropped.
    return attribute !== number && keyAttributes.some(({ path }) => path.includes(number))
  })
  if (index === undefined) return
  const message = `Attribute ${name} of class ${draft.name} is a key attribute of index '${index.name}', which a ${to.logicalType} cannot be.`
  throw commandError('AttributeInUse', message, place)
}
