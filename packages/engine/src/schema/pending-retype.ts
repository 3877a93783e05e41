/** The catalog while types of attributes change: writers are told, and indexes are built anew beside the old ones. */
import { maxStoredStringLengthDefault } from '../limits.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import type { Alteration, Retype } from './alter-class.ts'
import type { Catalog } from './catalog.ts'
import type {
  Attribute,
  CatalogState,
  ClassDefinition,
  IndexDefinition,
  IndexNumber,
  KeyAttribute,
} from './class-definition.ts'
import { keepsKeys } from './retype.ts'

/** The changes of types for which stored values, or index entries, have to be looked at before they can be. */
export function retypesToPrepare(catalog: Catalog, alteration: TypeChanges): Retype[] {
  return alteration.retypes.filter((retype) => {
    if (retype.work.kind !== 'convert') return retype.work.kind !== 'none'
    if (!retype.work.conversion.isLossless) return true
    return indexesToRebuild(catalog, { ...alteration, retypes: [retype] }).length > 0
  })
}

/** Of an alteration: what indexes depend on. */
export type TypeChanges = Pick<Alteration, 'retypes' | 'droppedIndexes'>

/** The indexes whose entries a change of types makes wrong, but for those that the same request drops. */
export function indexesToRebuild(catalog: Catalog, { retypes, droppedIndexes }: TypeChanges): IndexDefinition[] {
  const changed = retypes.filter(({ work, from, to }) => {
    return work.kind === 'narrow'
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

export interface Pending {
  readonly state: CatalogState
  /** The indexes that are to take the place of others, to be built. */
  readonly replacements: readonly IndexNumber[]
}

/** `session`: of the process that makes the change. */
export function withPending(catalog: Catalog, changes: TypeChanges, isLossAllowed: boolean, session: number): Pending {
  const { state } = catalog
  const { retypes } = changes
  const byNumber = new Map(retypes.map((retype) => [retype.attribute, retype]))
  const classes = mapAttributes(state.classes, (attribute) => {
    const retype = byNumber.get(attribute.number)
    return retype === undefined ? attribute : { ...attribute, becoming: { spec: retype.to, isLossAllowed, session } }
  })
  let next = state.counters.index
  const replacements = indexesToRebuild(catalog, changes).map((index): IndexDefinition => {
    const number = next++ as IndexNumber
    return { ...asReplaced(index, retypes), number, state: 'building', session, replaces: index.number }
  })
  return {
    state: {
      ...state,
      classes,
      indexes: [...state.indexes, ...replacements],
      counters: { ...state.counters, index: next },
    },
    replacements: replacements.map(({ number }) => number),
  }
}

/** The same indexes under new numbers, ready, still without entries. Those that the state has no more are left out. */
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

/** With the key attributes as they are after the change. */
function asReplaced(index: IndexDefinition, retypes: readonly Retype[]): IndexDefinition {
  return { ...index, keyAttributes: index.keyAttributes.map((key) => keyAfter(key, retypes)) }
}

function keyAfter(key: KeyAttribute, retypes: readonly Retype[]): KeyAttribute {
  const retype = retypes.find(({ attribute }) => key.path.at(-1) === attribute)
  if (retype === undefined) return key
  const { path, maxStoredStringLength = maxStoredStringLengthDefault } = key
  return retype.to.logicalType === 'string' ? { path, maxStoredStringLength } : { path }
}

/** The change did not come about: writers are free again, and the indexes stay. */
export function withoutPending(
  state: CatalogState,
  attributes: readonly AttributeNumber[],
  replacements: readonly IndexNumber[],
): CatalogState {
  return {
    ...state,
    classes: mapAttributes(state.classes, (attribute) => {
      if (attribute.becoming === undefined || !attributes.includes(attribute.number)) return attribute
      const { becoming: _, ...settled } = attribute
      return settled
    }),
    indexes: state.indexes.filter(({ number }) => !replacements.includes(number)),
  }
}

/** The indexes built anew take the places of the old ones, where those still are. */
export function withReplacements(state: CatalogState, replacements: readonly IndexNumber[]): CatalogState {
  const isReplaced = new Set<IndexNumber>()
  const settled = state.indexes.flatMap((index): IndexDefinition[] => {
    const { replaces, session: _, ...rest } = index
    if (replaces === undefined || !replacements.includes(index.number)) return [index]
    if (!state.indexes.some(({ number }) => number === replaces)) return []
    isReplaced.add(replaces)
    return [{ ...rest, state: 'ready' }]
  })
  return { ...state, indexes: settled.filter(({ number }) => !isReplaced.has(number)) }
}

/** Of the processes that change types; 0 where it is not known. */
export function pendingSessions({ classes }: CatalogState): number[] {
  const attributes = classes.flatMap((cls) => cls.attributes)
  return attributes.flatMap(({ becoming }) => (becoming === undefined ? [] : [becoming.session ?? 0]))
}

/** Without the changes of types that processes which are gone have left. */
export function withoutPendingOf(state: CatalogState, sessions: ReadonlySet<number>): CatalogState {
  const attributes = state.classes.flatMap((cls) =>
    cls.attributes.filter(({ becoming }) => becoming !== undefined && sessions.has(becoming.session ?? 0)),
  )
  const replacements = state.indexes.filter(
    ({ replaces, session = 0 }) => replaces !== undefined && sessions.has(session),
  )
  if (attributes.length === 0 && replacements.length === 0) return state
  return withoutPending(
    state,
    attributes.map(({ number }) => number),
    replacements.map(({ number }) => number),
  )
}

function mapAttributes(
  classes: readonly ClassDefinition[],
  map: (attribute: Attribute) => Attribute,
): readonly ClassDefinition[] {
  return classes.map((definition) => {
    const attributes = definition.attributes.map(map)
    const isSame = attributes.every((attribute, i) => attribute === definition.attributes[i])
    return isSame ? definition : { ...definition, attributes }
  })
}
