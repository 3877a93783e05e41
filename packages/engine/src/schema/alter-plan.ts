/** Plans how a change of classes takes effect (contract 5.1, 5.3), from the catalog and the command alone. */
import { AshlarError } from '../errors.ts'
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'
import { type AlteredState, alterClass, changedClass } from './alter-class.ts'
import { buildCatalog } from './build-catalog.ts'
import type { Catalog, SchemaClass } from './catalog.ts'
import type { CatalogState, IndexDefinition, IndexNumber } from './class-definition.ts'
import { withValidation } from './class-validation.ts'
import type { AlterClass, DefineClasses } from './commands.ts'
import { defineClassesYielding } from './define-classes.ts'
import type { ExpressionBinder } from './expression-uses.ts'
import type { ExtentChecks } from './extent-checks.ts'
import type { Pairing } from './pairing.ts'
import {
  canBePending,
  isCheckPending,
  type NewCheck,
  type PreparedParts,
  pendingChecksIn,
  withPendingChecks,
} from './pending-checks.ts'
import {
  indexesToRebuild,
  swapReplacementIndexes,
  typeChangesToPrepare,
  uniqueKeys,
  withPendingTypes,
  withRebuiltIndexes,
} from './pending-types.ts'
import { refuseConcurrentChecks } from './rechecked-checks.ts'
import { type UnfilledReferrers, unfilledReferrers } from './referrer-indexes.ts'
import type { Retype } from './retype-attribute.ts'
import { checkIndexNames, withIndexesFor } from './unique-indexes.ts'

/** The inputs of a plan besides catalog and command. */
export interface AlterContext {
  readonly attributesMax: number
  /** The store session of this process, which is stored in pending types. */
  readonly sessionNumber: number
  /** The change is a step of a larger transaction, so it must be complete when the step ends. */
  readonly isStep: boolean
  /** If missing, expressions are left unbound. */
  readonly expressions?: ExpressionBinder | undefined
}

interface AlterEffect {
  /** Classes that the command defines or changes, in order. */
  readonly classNumbers: readonly ClassNumber[]
  /** The catalog after the change; the original state object if nothing changes. */
  readonly next: CatalogState
  readonly retypes: readonly Retype[]
  readonly droppedIndexes: readonly IndexDefinition[]
  readonly rebuiltIndexes: readonly IndexDefinition[]
  /** Checked in the commit that publishes `next`. */
  readonly extents: ExtentChecks
  /** Indexes of new attributes: ready in `next`, and filled from existing objects in its commit. */
  readonly filledIndexes: readonly IndexNumber[]
}

/** No stored value or index entry changes or violates a constraint: one commit of the catalog. */
export interface ImmediateAlter extends AlterEffect {
  readonly kind: 'immediate'
}

interface PreparedAlter extends AlterEffect {
  /** The changes among `retypes` that affect stored values or index entries. */
  readonly typeChanges: readonly Retype[]
  /** Held against stored objects. */
  readonly newChecks: readonly NewCheck[]
  /** Held against stored objects, whose values the change converts. */
  readonly recheckedChecks: readonly NewCheck[]
  /** The catalog with the new types and checks as pending and the replacement indexes under construction. */
  readonly pending: CatalogState
  readonly replacements: readonly IndexNumber[]
  readonly isLossAllowed: boolean
  /** References among `typeChanges` that gain inverses. */
  readonly pairings: readonly Pairing[]
  /** The attributes among `typeChanges` that gain referrer indexes. */
  readonly unfilled: readonly UnfilledReferrers[]
}

/** What stored objects are held against. */
export interface StoredConstraints {
  /** Those whose constraints are checked. */
  readonly attributes: ReadonlySet<AttributeNumber>
  readonly checks: readonly NewCheck[]
}

/** As in `next`. */
export function constraintsToCheck({ typeChanges, newChecks, recheckedChecks }: PreparedAlter): StoredConstraints {
  const attributes = new Set(typeChanges.flatMap(({ becomes, isChecked }) => (isChecked ? [becomes] : [])))
  return { attributes, checks: [...newChecks, ...recheckedChecks] }
}

/** Publish `pending`, check the stored values, build links, replacements and referrer entries, then publish `next`; writers continue meanwhile. */
export interface OnlineAlter extends PreparedAlter {
  readonly kind: 'online'
  /** The class shows the progress and the failure of the change, which continues in the background; see `inBackground`. */
  readonly progressClass?: { readonly number: ClassNumber; readonly session: number }
  /** The store session of the process that makes the change. */
  readonly session: number
  /** Recomputes the catalog that completes the change from one in which it is prepared. */
  readonly complete: (catalog: Catalog, prepared: PreparedParts) => Generator<undefined, CatalogState>
}

/** Everything in one transaction: check and rewrite objects, publish `next`, fill the indexes `rebuilt`. */
export interface TransactionalAlter extends PreparedAlter {
  readonly kind: 'transactional'
  /** In `next`: the indexes that are ready but still without entries. */
  readonly rebuilt: readonly IndexNumber[]
}

export type AlterPlan = ImmediateAlter | OnlineAlter | TransactionalAlter

/**
 * The plan is valid as long as the catalog is unchanged; its commit must require the catalog's version. Throws
 * ClassNotFound, ClassIsInternal, and the errors of `alterClass`.
 */
export function* planAlter(
  catalog: Catalog,
  command: AlterClass,
  context: AlterContext,
): Generator<undefined, AlterPlan> {
  const { attributesMax, expressions } = context
  const { number } = changedClass(catalog, command.className)
  const alter = (current: Catalog, prepared: PreparedParts | undefined): Generator<undefined, AlteredState> => {
    return alterClass(current, changedClass(current, String(number)), command, { attributesMax, prepared, expressions })
  }
  const isLossAllowed = command.kind === 'alterAttributes' && command.isLossAllowed
  const complete = function* (current: Catalog, prepared: PreparedParts): Generator<undefined, CatalogState> {
    const altered = yield* alter(current, prepared)
    refuseObsoleteKeys(current, altered)
    return altered.state
  }
  return planOf(catalog, yield* alter(catalog, undefined), { classNumbers: [number], isLossAllowed, complete }, context)
}

/**
 * Like `planAlter`, for a batch of descriptions, which may give references inverses. Throws the errors of
 * `defineClasses`.
 */
export function* planDefinitions(
  catalog: Catalog,
  command: DefineClasses,
  context: AlterContext,
): Generator<undefined, AlterPlan> {
  const { attributesMax, expressions } = context
  const { classNumbers, ...defined } = yield* defineClassesYielding(catalog, command, { attributesMax, expressions })
  const { isLossAllowed = false } = command
  const complete = function* (current: Catalog, prepared: PreparedParts): Generator<undefined, CatalogState> {
    const options = { attributesMax, expressions, prepared }
    return (yield* defineClassesYielding(current, command, options)).state
  }
  return planOf(catalog, { ...defined, droppedIndexes: [] }, { classNumbers, isLossAllowed, complete }, context)
}

function planOf(
  catalog: Catalog,
  { state, retypes, droppedIndexes, pairings, newChecks, recheckedChecks = [], extents, newKeys }: AlteredState,
  { classNumbers, isLossAllowed, complete }: Pick<OnlineAlter, 'classNumbers' | 'isLossAllowed' | 'complete'>,
  { sessionNumber, isStep }: AlterContext,
): AlterPlan {
  refuseConcurrentChecks(catalog, state, retypes, [...newChecks, ...recheckedChecks])
  const typeChanges = typeChangesToPrepare(catalog, { retypes, droppedIndexes })
  const { state: keyed, added: filled } = withIndexesFor(state, newKeys, undefined)
  checkIndexNames(keyed, [])
  const filledIndexes = filled.map(({ number }) => number)
  if (typeChanges.length === 0 && newChecks.length === 0) {
    return {
      kind: 'immediate',
      classNumbers,
      next: keyed,
      retypes,
      droppedIndexes,
      rebuiltIndexes: [],
      extents,
      filledIndexes,
    }
  }
  const unfilled = unfilledReferrers(catalog.state, state)
  const nextIndex = state.counters.index
  const changes = { retypes: typeChanges, droppedIndexes, pairings, unfilled, nextIndex }
  const rebuiltIndexes = indexesToRebuild(catalog, changes)
  refuseUnfinishedKeys(typeChanges, rebuiltIndexes)
  const { state: retyping, replacements } = withPendingTypes(catalog, changes, isLossAllowed, sessionNumber)
  const effect = { classNumbers, retypes, droppedIndexes, rebuiltIndexes, extents, filledIndexes }
  const prepared = {
    ...effect,
    typeChanges,
    newChecks,
    recheckedChecks,
    isLossAllowed,
    pairings,
    unfilled,
  }
  const added = replacements.map(({ number }) => number)
  checkIndexNames(retyping, [])
  const isTransaction = isStep || filled.length > 0 || typeChanges.some(isTransactional) || retypes.some(isRedefinition)
  if (isTransaction || !canAllBePending(catalog, state, newChecks)) {
    const { state: rebuilding, indexes } = withRebuiltIndexes(keyed, rebuiltIndexes, retypes)
    const { state: next, added: unique } = withIndexesFor(rebuilding, uniqueKeys(typeChanges), undefined)
    const rebuilt = [...indexes, ...unique.map(({ number }) => number)]
    return { kind: 'transactional', ...prepared, pending: retyping, next, rebuilt, replacements: added }
  }
  const pending = withPendingChecks(retyping, newChecks, state, sessionNumber)
  const { index } = pending.counters
  const built = { ...state, indexes: [...state.indexes, ...replacements], counters: { ...state.counters, index } }
  const next = swapReplacementIndexes(built, added)
  return { kind: 'online', ...prepared, pending, next, replacements: added, session: sessionNumber, complete }
}

function canAllBePending(catalog: Catalog, next: CatalogState, newChecks: readonly NewCheck[]): boolean {
  if (newChecks.length === 0) return true
  const after = buildCatalog(next, catalog.version)
  return newChecks.every((check) => canBePending(catalog, after, check))
}

/** A new index could not distinguish values before and after their conversion. */
function isTransactional({ work, becomesUnique }: Retype): boolean {
  return ['narrow', 'move', 'recompute'].includes(work.kind) || (becomesUnique && work.kind === 'convert')
}

/** Writers do not hold their objects against checks by an expression that is still to come. */
function isRedefinition({ work }: Retype): boolean {
  return work.kind === 'recompute' && work.isRedefined
}

/** Throws AttributeInUse if an index with a recomputed key is still being built, by values from before the change. */
function refuseUnfinishedKeys(typeChanges: readonly Retype[], rebuilt: readonly IndexDefinition[]): void {
  if (!typeChanges.some(({ work }) => work.kind === 'recompute')) return
  const unfinished = rebuilt.find(({ state }) => state === 'building')
  if (unfinished === undefined) return
  throw new AshlarError('AttributeInUse', `Index '${unfinished.name}', whose keys the change computes, is being built.`)
}

/** Throws AttributeInUse if an index has been created meanwhile on a computed attribute whose value the online change alters. */
function refuseObsoleteKeys(catalog: Catalog, { retypes, droppedIndexes }: AlteredState): void {
  const recomputed = retypes.filter(({ work }) => work.kind === 'recompute')
  const [obsolete] = indexesToRebuild(catalog, { retypes: recomputed, droppedIndexes })
  if (obsolete !== undefined) throw concurrentAlter(`Index '${obsolete.name}'`)
}

/** The same change, made in the background. Throws AttributeInUse if the class is already being changed so. */
export function inBackground(plan: OnlineAlter, catalog: Catalog, sessionNumber: number): OnlineAlter {
  const [number] = plan.classNumbers as readonly [ClassNumber]
  const { name, definition } = catalog.classByNumber(number) as SchemaClass
  if (definition.validation?.session !== undefined) {
    throw new AshlarError('AttributeInUse', `Class ${name} is being changed in the background by another request.`)
  }
  const progressClass = { number, session: sessionNumber }
  return { ...plan, progressClass, pending: withValidation(plan.pending, number, { session: sessionNumber }) }
}

/**
 * The catalog that completes a prepared online change. Returns the planned one if `catalog` is still the one that the change
 * published; after unrelated concurrent changes it is recomputed. Throws AttributeInUse if the pending types are gone, and the
 * errors of `alterClass`.
 */
export function* completedState(plan: OnlineAlter, catalog: Catalog): Generator<undefined, CatalogState> {
  // The shapes of pairings have used the numbers of the planned catalog's shapes.
  if (catalog.state === plan.pending && plan.pairings.length === 0) return plan.next
  const prepared = pendingPartsOf(plan, catalog)
  for (const { attribute, name } of plan.typeChanges) {
    const { becoming } = catalog.attribute(attribute) ?? {}
    // The entries of another index are not complete.
    const index = plan.unfilled.find((one) => one.attribute === attribute)?.index
    if (!prepared.attributes.has(attribute) || becoming?.referrers !== index) throw concurrentAlter(`Attribute ${name}`)
  }
  for (const check of plan.newChecks) {
    if (!prepared.checks.includes(check)) throw concurrentAlter(`Check ${check.name}`)
  }
  const computed = yield* plan.complete(catalog, prepared)
  const state =
    plan.progressClass === undefined ? computed : withValidation(computed, plan.progressClass.number, undefined)
  const removedCount = pendingChecksIn(catalog.state).length - pendingChecksIn(state).length
  // Otherwise one of them was replaced, or is a check that another request is validating.
  if (plan.newChecks.length > 0 && removedCount !== plan.newChecks.length) throw concurrentAlter('A check')
  return swapReplacementIndexes(state, plan.replacements)
}

/**
 * The pending parts of the change that are still in the catalog: not those that another process has added since, having
 * considered this one dead.
 */
export function pendingPartsOf({ typeChanges, newChecks, session }: OnlineAlter, catalog: Catalog): PreparedParts {
  const attributes = typeChanges.map(({ attribute }) => attribute)
  return {
    attributes: new Set(attributes.filter((number) => catalog.attribute(number)?.becoming?.session === session)),
    checks: newChecks.filter((check) => isCheckPending(catalog.state, check, session)),
  }
}

/** The pending type or check was removed because this process was considered dead, or the class was deleted. */
export function concurrentAlter(what: string): AshlarError {
  return new AshlarError('AttributeInUse', `${what} was changed by another request meanwhile.`)
}
