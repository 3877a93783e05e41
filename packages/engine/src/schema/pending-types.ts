/** The catalog during online changes: pending types and checks, and indexes being built as replacements. */
import { maxStoredStringLengthDefault } from '../limits.ts'
import { isTruncatedInKeys } from '../types/truncated-key.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import { buildCatalog } from './build-catalog.ts'
import type { Catalog } from './catalog.ts'
import type {
  Attribute,
  CatalogState,
  ClassDefinition,
  IndexDefinition,
  IndexNumber,
  KeyAttribute,
  PendingType,
} from './class-definition.ts'
import { runningValidations, withAbandonedValidations } from './class-validation.ts'
import { isPairing, type Pairing } from './pairing.ts'
import { type PreparedParts, pendingChecksIn, withoutPendingChecks } from './pending-checks.ts'
import { withoutPairings, withPairings } from './pending-pairings.ts'
import type { UnfilledReferrers } from './referrer-indexes.ts'
import { keepsKeys } from './retype.ts'
import type { Retype } from './retype-attribute.ts'
import { type UniqueAttribute, withIndexesFor } from './unique-indexes.ts'

/** The type changes that affect stored values or index entries; the others are complete with the catalog. */
export function typeChangesToPrepare(catalog: Catalog, alteration: TypeChanges): Retype[] {
  return alteration.retypes.filter((retype) => {
    if (retype.isChecked || retype.becomesUnique || retype.gainsReferrers || retype.isNamed === true) return true
    if (retype.work.kind !== 'convert' && retype.work.kind !== 'recompute') return retype.work.kind !== 'none'
    if (retype.work.kind === 'convert' && !retype.work.conversion.isLossless) return true
    return indexesToRebuild(catalog, { ...alteration, retypes: [retype] }).length > 0
  })
}

/** The part of an alteration that indexes depend on. */
export interface TypeChanges {
  readonly retypes: readonly Retype[]
  readonly droppedIndexes: readonly IndexDefinition[]
}

/** The indexes whose entries are invalid under the new types, except those that the same request drops. */
export function indexesToRebuild(catalog: Catalog, { retypes, droppedIndexes }: TypeChanges): IndexDefinition[] {
  const changed = retypes.filter(({ work, from, to }) => {
    return ['narrow', 'pair', 'constrain', 'none'].includes(work.kind)
      ? false
      : work.kind !== 'convert' || !work.conversion.isLossless || !keepsKeys(from, to)
  })
  const isDropped = (index: IndexDefinition): boolean => droppedIndexes.some(({ number }) => number === index.number)
  return catalog.indexes.filter((index) => {
    return !isDropped(index) && changed.some(({ attribute }) => isKey(index, attribute))
  })
}

function isKey({ keyAttributes }: IndexDefinition, attribute: AttributeNumber): boolean {
  return keyAttributes.some(({ path }) => path.at(-1) === attribute)
}

export interface PendingTypes {
  readonly state: CatalogState
  /** The indexes to build, each of which replaces another or enforces `isUnique`. */
  readonly replacements: readonly IndexDefinition[]
}

/** What becomes pending. */
interface PendingChanges extends TypeChanges {
  readonly pairings: readonly Pairing[]
  readonly unfilled: readonly UnfilledReferrers[]
  /** The changed catalog has used the numbers before this one. */
  readonly nextIndex: number
}

/**
 * Adds the new types to the attributes as pending; from then on every writer checks its values against them. `sessionNumber`:
 * the store session of the process that makes the change.
 */
export function withPendingTypes(
  catalog: Catalog,
  changes: PendingChanges,
  isLossAllowed: boolean,
  sessionNumber: number,
): PendingTypes {
  const { state } = catalog
  const { retypes, pairings, unfilled } = changes
  const byNumber = new Map(retypes.map((retype) => [retype.attribute, retype]))
  const referrers = new Map(unfilled.map(({ attribute, index }) => [attribute, index]))
  const classes = mapAttributes(state.classes, (attribute) => {
    const retype = byNumber.get(attribute.number)
    if (retype === undefined) return attribute
    const becoming = pendingType(retype, isLossAllowed, sessionNumber)
    const index = referrers.get(attribute.number)
    return { ...attribute, becoming: index === undefined ? becoming : { ...becoming, referrers: index } }
  })
  let next = changes.nextIndex
  const replacements = indexesToRebuild(catalog, changes).map((index): IndexDefinition => {
    const number = next++ as IndexNumber
    return { ...asReplaced(index, retypes), number, state: 'building', session: sessionNumber, replaces: index.number }
  })
  const replacing: CatalogState = {
    ...state,
    classes,
    indexes: [...state.indexes, ...replacements],
    counters: { ...state.counters, index: next },
  }
  const { state: pending, added } = withIndexesFor(replacing, uniqueKeys(retypes), { session: sessionNumber })
  return {
    state: pairings.length === 0 ? pending : withPairings(buildCatalog(pending, catalog.version), pairings),
    replacements: [...replacements, ...added],
  }
}

/** The keys of attributes that become unique. */
export function uniqueKeys(retypes: readonly Retype[]): UniqueAttribute[] {
  const unique = retypes.filter(({ becomesUnique }) => becomesUnique)
  return unique.map(({ becomes, to, owner }) => ({ attribute: becomes, spec: to, owner }))
}

function pendingType({ from, to, work, properties }: Retype, isLossAllowed: boolean, session: number): PendingType {
  const keepsType = work.kind === 'constrain' || work.kind === 'recompute' || work.kind === 'none'
  return {
    spec: keepsType ? from : to,
    ...(properties === undefined ? {} : { properties }),
    ...(keepsType ? { keepsType } : {}),
    isLossAllowed,
    session,
  }
}

/** Gives the indexes new numbers, ready but without entries; skips those that are missing from `state`. */
export function withRebuiltIndexes(
  state: CatalogState,
  indexes: readonly IndexDefinition[],
  retypes: readonly Retype[],
): { readonly state: CatalogState; readonly indexes: readonly IndexNumber[] } {
  let next = state.counters.index
  const rebuilt: IndexNumber[] = []
  const definitions = state.indexes.map((index): IndexDefinition => {
    if (!indexes.some(({ number }) => number === index.number)) return index
    const number = next++ as IndexNumber
    rebuilt.push(number)
    return { ...asReplaced(index, retypes), number }
  })
  return { state: { ...state, indexes: definitions, counters: { ...state.counters, index: next } }, indexes: rebuilt }
}

/** The definition with the key attributes as they are after the change. */
function asReplaced(index: IndexDefinition, retypes: readonly Retype[]): IndexDefinition {
  return { ...index, keyAttributes: index.keyAttributes.map((key) => keyAfter(key, retypes)) }
}

function keyAfter(key: KeyAttribute, retypes: readonly Retype[]): KeyAttribute {
  const retype = retypes.find(({ attribute }) => key.path.at(-1) === attribute)
  if (retype === undefined) return key
  const { path, maxStoredStringLength = maxStoredStringLengthDefault } = key
  return isTruncatedInKeys(retype.to) ? { path, maxStoredStringLength } : { path }
}

/** Marks a temporary catalog that is never stored. */
const noVersion = Buffer.alloc(0)

/** What an online change has added to the catalog. */
export interface PendingParts extends PreparedParts {
  readonly replacements: readonly IndexNumber[]
}

/** Writers no longer check the new types and checks, and the present indexes stay. */
export function withoutPending(before: CatalogState, { attributes, checks, replacements }: PendingParts): CatalogState {
  const withoutChecks = withoutPendingChecks(before, checks)
  const isPaired = withoutChecks.classes.some((cls) =>
    cls.attributes.some(({ number, becoming }) => isPairing(becoming) && attributes.has(number)),
  )
  const state = isPaired ? withoutPairings(buildCatalog(withoutChecks, noVersion), attributes) : withoutChecks
  return {
    ...state,
    classes: mapAttributes(state.classes, (attribute) => {
      if (attribute.becoming === undefined || !attributes.has(attribute.number)) return attribute
      const { becoming: _, ...settled } = attribute
      return settled
    }),
    indexes: state.indexes.filter(({ number }) => !replacements.includes(number)),
  }
}

/** Makes the built indexes ready and replaces the old ones; drops a replacement whose old index has been deleted. */
export function swapReplacementIndexes(state: CatalogState, replacements: readonly IndexNumber[]): CatalogState {
  const isReplaced = new Set<IndexNumber>()
  const settled = state.indexes.flatMap((index): IndexDefinition[] => {
    const { replaces, session: _, ...rest } = index
    if (!replacements.includes(index.number)) return [index]
    if (replaces === undefined) return [{ ...rest, state: 'ready' }]
    if (!state.indexes.some(({ number }) => number === replaces)) return []
    isReplaced.add(replaces)
    return [{ ...rest, state: 'ready' }]
  })
  return { ...state, indexes: settled.filter(({ number }) => !isReplaced.has(number)) }
}

/** The store sessions that are changing classes online; 0 if unknown. */
export function pendingSessionNumbers(state: CatalogState): number[] {
  const attributes = state.classes.flatMap((cls) => cls.attributes)
  const attributeSessions = attributes.flatMap(({ becoming }) =>
    becoming === undefined ? [] : [becoming.session ?? 0],
  )
  const others = [...pendingChecksIn(state), ...runningValidations(state)]
  return [...attributeSessions, ...others.map(({ session }) => session)]
}

/** Removes the pending types, checks and replacement indexes of these store sessions; their changes in the background have failed. */
export function withoutPendingOf(before: CatalogState, sessionNumbers: ReadonlySet<number>): CatalogState {
  const state = withAbandonedValidations(before, sessionNumbers)
  const attributes = state.classes.flatMap((cls) =>
    cls.attributes.filter(({ becoming }) => becoming !== undefined && sessionNumbers.has(becoming.session ?? 0)),
  )
  const replacements = state.indexes.filter(
    ({ replaces, session = 0 }) => replaces !== undefined && sessionNumbers.has(session),
  )
  const checks = pendingChecksIn(state).filter(({ session }) => sessionNumbers.has(session))
  if (attributes.length === 0 && checks.length === 0 && replacements.length === 0) return state
  return withoutPending(state, {
    attributes: new Set(attributes.map(({ number }) => number)),
    checks,
    replacements: replacements.map(({ number }) => number),
  })
}

/** Returns unchanged definitions as the same objects. */
export function mapAttributes(
  classes: readonly ClassDefinition[],
  map: (attribute: Attribute) => Attribute,
): readonly ClassDefinition[] {
  return classes.map((definition) => {
    const attributes = definition.attributes.map(map)
    const isSame = attributes.every((attribute, i) => attribute === definition.attributes[i])
    return isSame ? definition : { ...definition, attributes }
  })
}
