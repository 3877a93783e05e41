/** Applies a batch of class descriptions to the catalog, completely or not at all. */
import { runToEnd } from '../store/time-slice.ts'
import type { ClassNumber, ShapeNumber, TypeSpec } from '../types/type-spec.ts'
import type { Catalog } from './catalog.ts'
import { checkAttributeCount, checkInheritance, checkKinds } from './check-drafts.ts'
import { checkEdges } from './check-edges.ts'
import { checkConversions, checkEmbedding } from './check-embedding.ts'
import { checkInverses } from './check-inverses.ts'
import { ClassBatch, type StagedAttribute } from './class-batch.ts'
import type { Attribute, CatalogState, ClassDefinition, Shape, ShapeAttribute } from './class-definition.ts'
import { withBoundExpressions } from './class-expressions.ts'
import type { ClassDescription, DefineClasses } from './commands.ts'
import { setClassProperties } from './define-properties.ts'
import type { ExpressionBinder } from './expression-uses.ts'
import { additionsTo, type ExtentChecks, newKeysOf, refuseChangingParts } from './extent-checks.ts'
import { InitialValues } from './initial-values.ts'
import { type Pairing, storedSpec } from './pairing.ts'
import { type NewCheck, newChecksOf, type PreparedParts } from './pending-checks.ts'
import { withReferrerIndexes } from './referrer-indexes.ts'
import { addInverses, pairingsOf, type Retype } from './retype-attribute.ts'
import {
  type ClassDraft,
  type DraftAttribute,
  type SchemaBuilder,
  selfAndAncestors,
  storedAttributes,
} from './schema-builder.ts'
import type { UniqueAttribute } from './unique-indexes.ts'

export interface DefinedClasses {
  /** The catalog's own state object if nothing changes. */
  readonly state: CatalogState
  /** One per description, in order. */
  readonly classNumbers: readonly ClassNumber[]
  /** References that gain inverses. */
  readonly retypes: readonly Retype[]
  /** Only those made online. */
  readonly pairings: readonly Pairing[]
  readonly newChecks: readonly NewCheck[]
  readonly extents: ExtentChecks
  /** New attributes that are unique. */
  readonly newKeys: readonly UniqueAttribute[]
}

export interface DefineOptions {
  readonly attributesMax: number
  /** Set if the change has been prepared: its types and checks are pending. */
  readonly prepared?: PreparedParts | undefined
  /** If missing, expressions are left unbound. */
  readonly expressions?: ExpressionBinder | undefined
}

/**
 * Throws the errors for batches of descriptions in section 5.1 of the contract: InvalidName, InvalidDefinition, UnknownClass,
 * UnknownAttribute, MalformedValue, LimitExceeded, ClassExists, AttributeExists, SuperClassMismatch, ClassIsEmbedded,
 * ClassIsReferenceable, and AttributeInUse.
 */
export function defineClasses(catalog: Catalog, command: DefineClasses, options: DefineOptions): DefinedClasses {
  return runToEnd(defineClassesYielding(catalog, command, options))
}

/** Like `defineClasses`, yielding between classes, each of which may have thousands of attributes. */
export function* defineClassesYielding(
  catalog: Catalog,
  { classes, mode, numbers }: DefineClasses,
  { attributesMax, prepared, expressions: binder }: DefineOptions,
): Generator<undefined, DefinedClasses> {
  const batch = new ClassBatch(catalog, prepared !== undefined)
  const { builder } = batch
  const targets = classes.map((description, i) => batch.stageClass(description, [i], mode, numbers?.[i]))
  for (const [i, draft] of targets.entries()) batch.setSuperclass(draft, classes[i] as ClassDescription)
  checkInheritance(builder)
  checkConversions(builder)
  checkKinds(builder)
  const staged: StagedAttribute[][] = []
  for (const [i, draft] of targets.entries()) {
    if (i > 0) yield
    const { attributes } = classes[i] as ClassDescription
    staged.push(batch.stageAttributes(draft, attributes, [i, 'attributes'], attributesMax))
  }
  const context = { catalog, batch, prepared }
  const retypes = targets.flatMap((draft, i) => addInverses(context, draft, staged[i] as StagedAttribute[]))
  const reshaped = classesWithNewShape(builder)
  for (const draft of reshaped) checkAttributeCount(draft, attributesMax)
  for (const [i, draft] of targets.entries()) {
    if (i > 0) yield
    yield* batch.defineTypes(draft, staged[i] as StagedAttribute[])
    setClassProperties({ builder, prepared, isValidating: true }, draft, classes[i] as ClassDescription, [i])
  }
  for (const [i, draft] of targets.entries()) {
    if (i > 0) yield
    checkInverses(builder, draft)
    checkEdges(builder, draft)
  }
  checkEmbedding(builder)
  for (const [i, draft] of targets.entries()) refuseChangingParts(builder, draft, staged[i] as StagedAttribute[])
  const redefined = targets.filter(({ isRedefined, needsNewShape }) => isRedefined && !needsNewShape)
  const reshapedState = yield* nextStateYielding(catalog.state, batch, reshaped)
  const shaped = redefined.reduce(withDefinition, reshapedState)
  const state = yield* withBoundExpressions(catalog, shaped, { binder, isCascading: false })
  const classNumbers = targets.map(({ number }) => number)
  const additions = targets.flatMap((draft, i) => additionsTo(draft, staged[i] as StagedAttribute[], true))
  const extents = { additions, abstractClasses: [] }
  const newChecks = targets.flatMap(newChecksOf)
  const newKeys = targets.flatMap((draft, i) => newKeysOf(draft, staged[i] as StagedAttribute[]))
  return { state, classNumbers, retypes, pairings: pairingsOf(builder, retypes), newChecks, extents, newKeys }
}

/** New classes, changed classes and their subclasses, by class number. */
export function classesWithNewShape(builder: SchemaBuilder): ClassDraft[] {
  return [...builder.all()]
    .filter((draft) => selfAndAncestors(draft).some(({ needsNewShape }) => needsNewShape))
    .sort((one, other) => one.number - other.number)
}

/** The state with new shapes for the drafts; the given state itself if there are none. */
export function nextState(state: CatalogState, batch: ClassBatch, reshaped: readonly ClassDraft[]): CatalogState {
  return runToEnd(nextStateYielding(state, batch, reshaped))
}

/** Like `nextState`, yielding between attributes. */
export function* nextStateYielding(
  state: CatalogState,
  batch: ClassBatch,
  reshaped: readonly ClassDraft[],
): Generator<undefined, CatalogState> {
  if (reshaped.length === 0) return state
  const definitions = new Map<ClassNumber, ClassDefinition>()
  const shapes: Shape[] = []
  const shaped = new Map<DraftAttribute, ShapeAttribute>()
  const initials = new InitialValues(batch, state.shapes)
  for (const [i, draft] of reshaped.entries()) {
    if (i > 0) yield
    const shapeNumber = (draft.existing === undefined ? draft.number : batch.nextNumber++) as ShapeNumber
    definitions.set(draft.number, toDefinition(draft, shapeNumber))
    shapes.push(yield* toShape(draft, shapeNumber, initials, shaped))
  }
  const existing = state.classes.map((cls) => definitions.get(cls.number) ?? cls)
  const added = reshaped.filter(({ existing }) => existing === undefined)
  return withReferrerIndexes(state, {
    ...state,
    counters: { ...state.counters, classOrShape: batch.nextNumber, attribute: batch.nextAttribute },
    classes: [...existing, ...added.map(({ number }) => definitions.get(number) as ClassDefinition)],
    shapes: [...state.shapes, ...shapes],
  })
}

/** The state with a new definition of a class that keeps its shape. */
export function withDefinition(state: CatalogState, draft: ClassDraft): CatalogState {
  return {
    ...state,
    classes: state.classes.map((definition) => {
      return definition.number === draft.number ? toDefinition(draft, definition.shapeNumber) : definition
    }),
  }
}

/** The definition with the given shape. */
function toDefinition(draft: ClassDraft, shapeNumber: ShapeNumber): ClassDefinition {
  return {
    number: draft.number,
    name: draft.name,
    isReferenceable: draft.isReferenceable,
    isDeleted: false,
    superClass: draft.superClass?.number ?? null,
    shapeNumber,
    ...(draft.properties === undefined ? {} : { properties: draft.properties }),
    attributes: [...draft.attributes.values()].map(toAttribute),
    ...(draft.arriving.length === 0 ? {} : { arriving: draft.arriving.map(toAttribute) }),
    ...(draft.pendingChecks.length === 0 ? {} : { pendingChecks: draft.pendingChecks }),
    ...(draft.validation === undefined ? {} : { validation: draft.validation }),
  }
}

function toAttribute({ number, name, spec, properties, referrers, pendingType }: DraftAttribute): Attribute {
  return {
    number,
    name,
    spec: spec as TypeSpec,
    ...(properties === undefined ? {} : { properties }),
    ...(referrers === undefined ? {} : { referrers }),
    ...(pendingType === undefined ? {} : { becoming: pendingType }),
  }
}

/** `shaped`: the attributes so far, shared by the shapes of all classes that inherit them. */
function* toShape(
  draft: ClassDraft,
  number: ShapeNumber,
  initials: InitialValues,
  shaped: Map<DraftAttribute, ShapeAttribute>,
): Generator<undefined, Shape> {
  const attributes: ShapeAttribute[] = []
  for (const attribute of storedAttributes(draft)) {
    let one = shaped.get(attribute)
    if (one === undefined) {
      yield
      const { number, conversion, isRecomputed, spec, pendingType } = attribute
      const initial = initials.of(draft, attribute)
      one = {
        number,
        spec: storedSpec(spec as TypeSpec, pendingType),
        ...(initial === undefined ? {} : { initial }),
        ...(conversion === undefined ? {} : { conversion }),
        ...(isRecomputed === undefined ? {} : { isRecomputed }),
      }
      shaped.set(attribute, one)
    }
    attributes.push(one)
  }
  return { number, classNumber: draft.number, attributes }
}
