/** Computes a change of a class: renames it, or deletes, renames, retypes, adds and constrains attributes (contract 5.3, 10.5). */
import { AshlarError, type CommandPlace, truncateForMessage } from '../errors.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import type { Catalog, SchemaClass } from './catalog.ts'
import { checkAttributeCount } from './check-drafts.ts'
import { checkEdges, edgeUse } from './check-edges.ts'
import { checkEmbedding } from './check-embedding.ts'
import { checkInverses } from './check-inverses.ts'
import { ClassBatch } from './class-batch.ts'
import type { CatalogState, IndexDefinition, IndexNumber } from './class-definition.ts'
import { type ExpressionChange, withBoundExpressions } from './class-expressions.ts'
import { commandError } from './command-error.ts'
import type { AlterAttributes, AlterClass, AttributeRename } from './commands.ts'
import { constrainAttributes, leaveUnvalidated, withConstraints } from './constrain-attributes.ts'
import { declaredAttribute } from './declared-attribute.ts'
import { defineAttribute } from './define-attribute.ts'
import { classesWithNewShape, nextStateYielding, withDefinition } from './define-classes.ts'
import { changeClassProperties, retypedProperties } from './define-properties.ts'
import { attributesNamed } from './expression.ts'
import { describeSite, type ExpressionBinder } from './expression-uses.ts'
import { additionsTo, type ExtentChecks, newKeysOf, noExtentChecks, refuseChangingParts } from './extent-checks.ts'
import { checkAttributeName, checkClassName, didYouMean } from './names.ts'
import type { Pairing } from './pairing.ts'
import { type NewCheck, newChecksOf, type PreparedParts } from './pending-checks.ts'
import { withRecheckedChecks } from './rechecked-checks.ts'
import { recomputedAttributes } from './recompute.ts'
import { withReferrerIndexes } from './referrer-indexes.ts'
import { pairingsOf, type Retype, type RetypeContext, refusePairing, retypeAttribute } from './retype-attribute.ts'
import { rootClassName, rootClassRefusal } from './root-class.ts'
import { type ClassDraft, type DraftAttribute, referenceIn, type SchemaBuilder } from './schema-builder.ts'
import { type UniqueAttribute, withSettledIndexes } from './unique-indexes.ts'

export interface AlterOptions {
  readonly attributesMax: number
  /** Set if the change has been prepared: its types and checks are pending. */
  readonly prepared?: PreparedParts | undefined
  /** If missing, expressions are left unbound. */
  readonly expressions?: ExpressionBinder | undefined
}

export interface AlteredState {
  /** The catalog's own state object if nothing changes. */
  readonly state: CatalogState
  /** Deleted together with an attribute, so never rebuilt. */
  readonly droppedIndexes: readonly IndexDefinition[]
  readonly retypes: readonly Retype[]
  /** Only those made online. */
  readonly pairings: readonly Pairing[]
  readonly newChecks: readonly NewCheck[]
  /** Validated checks whose values the change converts. */
  readonly recheckedChecks?: readonly NewCheck[]
  readonly extents: ExtentChecks
  /** New attributes that are unique. */
  readonly newKeys: readonly UniqueAttribute[]
}

/**
 * Does not check whether stored values fit the new types. Throws InvalidName, ClassExists, UnknownAttribute, AttributeExists,
 * AttributeInUse, and the errors of attribute definitions.
 */
export function* alterClass(
  catalog: Catalog,
  cls: SchemaClass,
  command: AlterClass,
  options: AlterOptions,
): Generator<undefined, AlteredState> {
  const altered = yield* alterWithoutExpressions(catalog, cls, command, options)
  if (command.kind !== 'renameClass') refuseCountedMoves(altered, command)
  const state = yield* withBoundExpressions(catalog, altered.state, expressionChange(command, options))
  const isValidating = command.kind === 'renameClass' || command.isValidating
  return { ...altered, ...withRecheckedChecks({ ...altered, state }, altered.newChecks, isValidating) }
}

/** Throws AttributeInUse for a list that becomes a set, or a set that becomes a list, while a check counts it (contract 10.6.21). */
function refuseCountedMoves({ retypes, state }: AlteredState, { attributesToChange }: AlterAttributes): void {
  const moved = new Map(retypes.flatMap((one) => (one.becomes === one.attribute ? [] : [[one.attribute, one]])))
  if (moved.size === 0) return
  for (const { isDeleted, name: className, properties, pendingChecks = [] } of state.classes) {
    for (const { name, expression } of isDeleted ? [] : [...(properties?.checks ?? []), ...pendingChecks]) {
      const retype = attributesNamed(expression).flatMap((number) => moved.get(number) ?? [])[0]
      if (retype === undefined) continue
      const [from, to] = [retype.from.logicalType, retype.to.logicalType]
      const what = describeSite(className, { kind: 'checks', name, attribute: undefined })
      const words = from === to ? 'cannot gain or lose its inverse' : `cannot become a ${to} from a ${from}`
      const advice = 'remove the check, change the attribute, and add the check again'
      const message = `${what}: it counts attribute ${retype.name}, which ${words} while it does; ${advice}.`
      const position = attributesToChange.findIndex(({ attributeName }) => attributeName === retype.name)
      throw commandError('AttributeInUse', message, ['attributesToChange', position])
    }
  }
}

function expressionChange(command: AlterClass, { expressions: binder }: AlterOptions): ExpressionChange {
  if (command.kind === 'renameClass') return { binder, isCascading: false }
  const placeOf = (name: string): CommandPlace => deletionOf(name, command.attributesToDelete)
  return { binder, isCascading: command.isCascading, placeOf }
}

function* alterWithoutExpressions(
  catalog: Catalog,
  cls: SchemaClass,
  command: AlterClass,
  options: AlterOptions,
): Generator<undefined, AlteredState> {
  if (command.kind === 'renameClass') {
    const state = withSettledIndexes(renameClass(catalog, cls, command.classRename))
    const none = { droppedIndexes: [], retypes: [], pairings: [], newChecks: [], newKeys: [] }
    return { state, ...none, extents: noExtentChecks }
  }
  const { attributesMax, prepared } = options
  const { isValidating } = command
  const batch = new ClassBatch(catalog, prepared !== undefined)
  const { builder } = batch
  const draft = builder.get(cls.number)
  const dropped = deleteAttributes(catalog, builder, draft, command)
  const isRenamed = renameAttributes(builder, draft, command.attributesToRename)
  const staged = batch.stageAttributes(draft, command.attributesToAdd, addition, attributesMax)
  const context = { catalog, batch, prepared, isValidating }
  const retypes = retypeAttributes(context, draft, command, dropped)
  yield* batch.defineTypes(draft, staged)
  if (!isValidating) leaveUnvalidated(staged)
  const constrained = constrainAttributes(context, draft, command.attributesToConstrain)
  const recomputed = recomputedAttributes(context, draft, retypes)
  const changes = withConstraints([...retypes, ...recomputed], constrained, builder)
  const wasAbstract = draft.properties?.isAbstract === true
  changeClassProperties({ builder, prepared, isValidating }, draft, command)
  const reshaped = classesWithNewShape(builder)
  for (const one of reshaped) checkAttributeCount(one, attributesMax, addition)
  for (const one of builder.all()) {
    if (!one.needsNewShape) continue
    checkInverses(builder, one)
    checkEdges(builder, one)
  }
  checkEmbedding(builder)
  refuseChangingParts(builder, draft, staged)
  const shaped = yield* nextStateYielding(catalog.state, batch, reshaped)
  const isRedefined = (isRenamed || draft.isRedefined) && !draft.needsNewShape
  const state = isRedefined ? withDefinition(shaped, draft) : shaped
  const isDropped = ({ number, replaces }: IndexDefinition): boolean =>
    dropped.has(number) || dropped.has(replaces ?? number)
  const remaining =
    dropped.size === 0 ? state : { ...state, indexes: state.indexes.filter((index) => !isDropped(index)) }
  const settled = withReferrerIndexes(catalog.state, withSettledIndexes(remaining))
  const left = new Set(settled.indexes.map(({ number }) => number))
  return {
    state: settled,
    droppedIndexes: catalog.indexes.filter(({ number }) => !left.has(number)),
    retypes: changes,
    pairings: pairingsOf(builder, changes),
    newChecks: newChecksOf(draft),
    extents: {
      additions: additionsTo(draft, staged, isValidating),
      abstractClasses: !wasAbstract && draft.properties?.isAbstract === true ? [draft.number] : [],
    },
    newKeys: newKeysOf(draft, staged),
  }
}

const addition = ['attributesToAdd']

function renameClass(
  { state, classByName }: Catalog,
  { definition, name: oldName, namespace }: SchemaClass,
  newName: string,
): CatalogState {
  const name = newName.startsWith('.')
    ? newName.slice(1)
    : newName.includes('.') || namespace === null
      ? newName
      : `${namespace}.${newName}`
  checkClassName(name, ['classRename'])
  if (name === oldName) return state
  if (classByName(name) !== undefined)
    throw commandError('ClassExists', `There is a class ${name} already.`, ['classRename'])
  return { ...state, classes: state.classes.map((one) => (one === definition ? { ...definition, name } : one)) }
}

/** Returns the indexes that are deleted with them. Throws AttributeInUse. */
function deleteAttributes(
  catalog: Catalog,
  builder: SchemaBuilder,
  draft: ClassDraft,
  { attributesToDelete: deletions, isCascading }: AlterAttributes,
): Set<IndexNumber> {
  const gone = new Map<AttributeNumber, { owner: ClassDraft; attribute: DraftAttribute }>()
  for (const [i, name] of deletions.entries()) {
    const place = ['attributesToDelete', i]
    const attribute = declaredAttribute(builder, draft, name, place)
    if (gone.has(attribute.number))
      throw commandError('InvalidDefinition', `Attribute ${name} is deleted twice.`, place)
    refusePairing(draft, attribute, place)
    gone.set(attribute.number, { owner: draft, attribute })
  }
  for (const [i, name] of deletions.entries()) {
    const place = ['attributesToDelete', i]
    const inverse = referenceIn(declaredAttribute(builder, draft, name, place).spec)?.inverseAttribute
    if (inverse === undefined || inverse === null || gone.has(inverse)) continue
    const partner = builder.declared(inverse)
    if (partner === undefined) continue
    if (!isCascading) {
      const message = `Attribute ${name} of class ${draft.name} is linked with ${partner.attribute.name} of class ${partner.owner.name}; with the option cascade that goes too.`
      throw commandError('AttributeInUse', message, place)
    }
    gone.set(inverse, partner)
  }
  refuseEdgeAttributes(builder, gone, deletions)
  const indexes = catalog.indexes.filter((index) => usedNumber(index, gone) !== undefined)
  // The index that enforces uniqueness is deleted with its attribute.
  const first = indexes.find(({ attribute }) => attribute === undefined || !gone.has(attribute))
  if (first !== undefined && !isCascading) throw keyInUse(draft, first, gone, deletions)
  for (const { owner, attribute } of gone.values()) builder.removeAttribute(owner, attribute)
  return new Set(indexes.map(({ number }) => number))
}

/** Edges would lose their targets, so even with cascade the attributes that refer to edges must be deleted first. */
function refuseEdgeAttributes(
  builder: SchemaBuilder,
  gone: ReadonlyMap<AttributeNumber, { owner: ClassDraft; attribute: DraftAttribute }>,
  deletions: readonly string[],
): void {
  const use = edgeUse(builder, new Set(gone.keys()), ({ edgeAttribute }) => gone.has(edgeAttribute))
  if (use === undefined) return
  const leading = gone.get(use.spec.edgeAttribute)
  const name = leading?.attribute.name
  const message = `Attribute ${name} of class ${leading?.owner.name} is the edgeAttribute of attribute ${use.attribute.name} of class ${use.owner.name}.`
  throw commandError('AttributeInUse', message, deletionOf(name, deletions))
}

function usedNumber(index: IndexDefinition, gone: ReadonlyMap<AttributeNumber, unknown>): AttributeNumber | undefined {
  return index.keyAttributes.flatMap(({ path }) => path).find((number) => gone.has(number))
}

function keyInUse(
  draft: ClassDraft,
  index: IndexDefinition,
  gone: ReadonlyMap<AttributeNumber, { attribute: DraftAttribute }>,
  deletions: readonly string[],
): AshlarError {
  const used = gone.get(usedNumber(index, gone) as AttributeNumber)?.attribute.name
  const message = `Attribute ${used} of class ${draft.name} is a key attribute of index '${index.name}'; with the option cascade the index goes too.`
  return commandError('AttributeInUse', message, deletionOf(used, deletions))
}

/** Attributes that are deleted by cascade are not listed. */
function deletionOf(name: string | undefined, deletions: readonly string[]): CommandPlace {
  const position = name === undefined ? -1 : deletions.indexOf(name)
  return position < 0 ? ['attributesToDelete'] : ['attributesToDelete', position]
}

/** Shapes do not change: an attribute is identified by its number. */
function renameAttributes(builder: SchemaBuilder, draft: ClassDraft, renames: readonly AttributeRename[]): boolean {
  let isRenamed = false
  for (const [i, { originalName, newName }] of renames.entries()) {
    const place = ['attributesToRename', i]
    const attribute = declaredAttribute(builder, draft, originalName, [...place, 'originalName'])
    if (originalName === newName) continue
    checkAttributeName(draft.name, newName, [...place, 'newName'])
    if (draft.attributes.has(newName)) {
      const message = `Class ${draft.name} has an attribute ${newName} already.`
      throw commandError('AttributeExists', message, [...place, 'newName'])
    }
    builder.replaceAttribute(draft, attribute, { ...attribute, name: newName })
    isRenamed = true
  }
  return isRenamed
}

/** Applied in order; each type is compared with the one that the attribute has at that point. */
function retypeAttributes(
  context: RetypeContext,
  draft: ClassDraft,
  { attributesToChange: changes, isCascading }: AlterAttributes,
  droppedIndexes: Set<IndexNumber>,
): Retype[] {
  const { batch, catalog } = context
  const { builder } = batch
  const changed = new Set<string>()
  return changes.flatMap((description, i) => {
    const place = ['attributesToChange', i]
    const { attributeName: name } = description
    const attribute = declaredAttribute(builder, draft, name, [...place, 'attributeName'])
    if (attribute.properties?.own.computed !== undefined) {
      const message = `Class ${draft.name}: attribute ${name} is computed, and its type cannot be changed.`
      throw commandError('InvalidDefinition', message, place)
    }
    if (batch.isAdded(attribute.number)) {
      const message = `Class ${draft.name} has no attribute ${name} that could be changed: it is added after that, in its new form.`
      throw commandError('UnknownAttribute', message, [...place, 'attributeName'])
    }
    if (changed.has(name)) {
      throw commandError('InvalidDefinition', `Class ${draft.name}: attribute ${name} is changed twice.`, place)
    }
    changed.add(name)
    const inverse = referenceIn(attribute.spec)?.inverseAttribute
    const to = defineAttribute(builder, draft, description, place)
    const properties = retypedProperties(draft, attribute, to, description, place)
    const retype = retypeAttribute(context, draft, attribute, to, properties, place)
    if (retype === undefined) return []
    if (inverse !== undefined && inverse !== null && referenceIn(retype.to)?.inverseAttribute === null) {
      for (const index of deleteInverse(catalog, builder, draft, name, inverse, isCascading, place)) {
        droppedIndexes.add(index)
      }
    }
    return [retype]
  })
}

/** Deletes the inverse of an attribute that no longer has one; returns the indexes deleted with it. Throws AttributeInUse. */
function deleteInverse(
  catalog: Catalog,
  builder: SchemaBuilder,
  draft: ClassDraft,
  name: string,
  inverse: AttributeNumber,
  isCascading: boolean,
  place: CommandPlace,
): IndexNumber[] {
  const partner = builder.declared(inverse)
  // A self-inverse attribute in its new form has no partner.
  if (partner === undefined || (partner.owner === draft && partner.attribute.name === name)) return []
  const gone = new Map([[inverse, partner]])
  if (!isCascading) {
    const message = `Attribute ${name} of class ${draft.name} is linked with ${partner.attribute.name} of class ${partner.owner.name}; with the option cascade that is deleted, and ${name} keeps its references.`
    throw commandError('AttributeInUse', message, place)
  }
  refuseEdgeAttributes(builder, gone, [])
  builder.removeAttribute(partner.owner, partner.attribute)
  return catalog.indexes.flatMap((index) => (usedNumber(index, gone) === undefined ? [] : [index.number]))
}

/** The class that a command changes or deletes, by full name or class number. Throws ClassNotFound, ClassIsInternal. */
export function changedClass(catalog: Catalog, nameOrNumber: string): SchemaClass {
  const cls = catalog.findClass(nameOrNumber)
  if (cls !== undefined) return cls
  if (nameOrNumber === rootClassName) throw rootClassRefusal(undefined, 'it cannot be changed or deleted')
  const names = catalog.classes.map(({ name }) => name)
  throw new AshlarError(
    'ClassNotFound',
    `There is no class '${truncateForMessage(nameOrNumber)}'.${didYouMean(nameOrNumber, names)}`,
  )
}
