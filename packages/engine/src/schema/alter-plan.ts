/** Decides how the change of a class is put into effect (contract 5.3): once, from the catalog and the command alone. */
import { AshlarError } from '../errors.ts'
import { alterClass, changedClass, type Retype } from './alter-class.ts'
import type { Catalog, SchemaClass } from './catalog.ts'
import type { CatalogState, IndexDefinition, IndexNumber } from './class-definition.ts'
import type { AlterClass } from './commands.ts'
import {
  indexesToRebuild,
  swapReplacementIndexes,
  typeChangesToPrepare,
  withPendingTypes,
  withRebuiltIndexes,
} from './pending-types.ts'

/** What a plan depends on besides catalog and command. */
export interface AlterContext {
  readonly attributesMax: number
  /** Of the store session of this process: pending types name it. */
  readonly sessionNumber: number
  /** The change is a step of a larger transaction, so it must be complete when the step ends. */
  readonly isStep: boolean
}

interface AlterEffect {
  readonly cls: SchemaClass
  /** The catalog after the change; the state the plan was made for if nothing changes. */
  readonly next: CatalogState
  readonly retypes: readonly Retype[]
  readonly droppedIndexes: readonly IndexDefinition[]
  readonly rebuiltIndexes: readonly IndexDefinition[]
}

/** No stored value and no index entry has to be looked at: one commit of the catalog. */
export interface ImmediateAlter extends AlterEffect {
  readonly kind: 'immediate'
}

interface PreparedAlter extends AlterEffect {
  /** The changes of `retypes` that concern stored values or index entries. */
  readonly typeChanges: readonly Retype[]
  /** The catalog with the new types as pending and the replacement indexes under construction. */
  readonly pending: CatalogState
  readonly replacements: readonly IndexNumber[]
  readonly isLossAllowed: boolean
}

/** Publish `pending`, check the stored values, build the replacements, then publish `next`; writers continue meanwhile. */
export interface OnlineAlter extends PreparedAlter {
  readonly kind: 'online'
  readonly command: AlterClass
  readonly attributesMax: number
}

/** Everything in one transaction: check and rewrite objects, publish `next`, fill the indexes `rebuilt`. */
export interface TransactionalAlter extends PreparedAlter {
  readonly kind: 'transactional'
  /** In `next`: the indexes that are ready but still without entries. */
  readonly rebuilt: readonly IndexNumber[]
}

export type AlterPlan = ImmediateAlter | OnlineAlter | TransactionalAlter

/**
 * The plan is valid as long as the catalog is unchanged; whoever carries it out makes the commit require the catalog's version.
 * Throws ClassNotFound, ClassIsInternal, and what `alterClass` throws.
 */
export function planAlter(
  catalog: Catalog,
  command: AlterClass,
  { attributesMax, sessionNumber, isStep }: AlterContext,
): AlterPlan {
  const cls = changedClass(catalog, command.className)
  const { state, retypes, droppedIndexes } = alterClass(catalog, cls, command, { attributesMax })
  const typeChanges = typeChangesToPrepare(catalog, { retypes, droppedIndexes })
  if (typeChanges.length === 0) {
    return { kind: 'immediate', cls, next: state, retypes, droppedIndexes, rebuiltIndexes: [] }
  }
  const isLossAllowed = command.kind === 'alterAttributes' && command.isLossAllowed
  const changes = { retypes: typeChanges, droppedIndexes }
  const rebuiltIndexes = indexesToRebuild(catalog, changes)
  const { state: pending, replacements } = withPendingTypes(catalog, changes, isLossAllowed, sessionNumber)
  const prepared = { cls, retypes, droppedIndexes, rebuiltIndexes, typeChanges, pending, isLossAllowed }
  const added = replacements.map(({ number }) => number)
  if (isStep || typeChanges.some(({ work }) => work.kind !== 'convert')) {
    const { state: next, indexes: rebuilt } = withRebuiltIndexes(state, rebuiltIndexes, retypes)
    return { kind: 'transactional', ...prepared, next, rebuilt, replacements: added }
  }
  const { index } = pending.counters
  const built = { ...state, indexes: [...state.indexes, ...replacements], counters: { ...state.counters, index } }
  const next = swapReplacementIndexes(built, added)
  return { kind: 'online', ...prepared, next, replacements: added, command, attributesMax }
}

/**
 * The catalog that completes an online change whose preparation is done. The planned one if `catalog` is still what the change
 * has published; if others have changed it since, in what this change does not touch, it is computed anew. Throws AttributeInUse
 * if the pending types are gone, and what `alterClass` throws.
 */
export function completedState(plan: OnlineAlter, catalog: Catalog): CatalogState {
  if (catalog.state === plan.pending) return plan.next
  for (const { attribute, name } of plan.typeChanges) {
    if (catalog.attribute(attribute)?.becoming === undefined) throw concurrentAlter(name)
  }
  const cls = changedClass(catalog, String(plan.cls.number))
  const { attributesMax } = plan
  const { state } = alterClass(catalog, cls, plan.command, { attributesMax, isPrepared: true })
  return swapReplacementIndexes(state, plan.replacements)
}

/** The pending type has been removed, since this process was presumed dead, or the class has been deleted. */
export function concurrentAlter(attributeName: string | undefined): AshlarError {
  return new AshlarError('AttributeInUse', `Attribute ${attributeName} was changed by another request meanwhile.`)
}
