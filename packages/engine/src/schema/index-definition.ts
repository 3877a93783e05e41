/** Index definitions: validates their creation and represents them in replies (contract 6.1). */
import { type CommandPlace, truncateForMessage } from '../errors.ts'
import { maxStoredStringLengthDefault } from '../limits.ts'
import { isTruncatedInKeys } from '../types/truncated-key.ts'
import type { LogicalTypeName } from '../types/type-spec.ts'
import type { Catalog, SchemaClass } from './catalog.ts'
import type { CatalogState, IndexDefinition, IndexNumber, KeyAttribute } from './class-definition.ts'
import { commandError } from './command-error.ts'
import type { CreateIndex, KeyDescription } from './commands.ts'
import { isExpression } from './expression.ts'
import { keyPathName, resolveKeyPath } from './key-path.ts'
import { checkIndexName, didYouMean } from './names.ts'
import { rootClassName, rootClassRefusal } from './root-class.ts'

export interface IndexRepresentation {
  readonly name: string
  readonly indexedClass: string
  readonly isUnique: boolean
  readonly keyAttributes: readonly {
    readonly attributeName: string
    readonly properties?: { readonly maxStoredStringLength: number }
  }[]
  readonly state: IndexDefinition['state']
  /** The reason why a background build failed. */
  readonly failure?: { readonly type: string; readonly message: string }
}

const notIndexable: readonly LogicalTypeName[] = ['list', 'set', 'map', 'object', 'json']

/**
 * Returns the definition, in state `building`, and the catalog state with it. Throws InvalidName, IndexExists, UnknownClass,
 * ClassIsInternal, ClassNotReferenceable, UnknownAttribute, AttributeNotIndexable, InvalidDefinition, LimitExceeded.
 */
export function defineIndex(
  catalog: Catalog,
  { name, indexedClass, isUnique, keyAttributes: keys }: CreateIndex,
  keyAttributesMax: number,
  builder: { readonly sessionNumber: number; readonly isBackground: boolean },
): { definition: IndexDefinition; state: CatalogState } {
  checkIndexName(name)
  const cls = indexedClassOf(catalog, indexedClass)
  if (keys.length > keyAttributesMax) {
    throw commandError(
      'LimitExceeded',
      `An index has at most ${keyAttributesMax} key attributes, not ${keys.length} (indexKeyAttributesMax).`,
      ['keyAttributes'],
    )
  }
  const keyAttributes = keys.map((key, i) => resolveKey(catalog, cls, key, ['keyAttributes', i, 'attributeName']))
  const seen = new Set<string>()
  for (const [i, { path }] of keyAttributes.entries()) {
    if (seen.has(path.join())) {
      const message = `Attribute ${keys[i]?.attributeName} is a key attribute of the index twice.`
      throw commandError('InvalidDefinition', message, ['keyAttributes', i])
    }
    seen.add(path.join())
  }
  if (catalog.indexByName(name) !== undefined) {
    throw commandError('IndexExists', `There is an index '${name}' already.`, ['name'])
  }
  const { state } = catalog
  const definition: IndexDefinition = {
    number: state.counters.index as IndexNumber,
    name,
    indexedClass: cls.number,
    isUnique,
    keyAttributes,
    state: 'building',
    session: builder.sessionNumber,
    ...(builder.isBackground ? { isBackground: true } : {}),
  }
  const counters = { ...state.counters, index: state.counters.index + 1 }
  return { definition, state: { ...state, counters, indexes: [...state.indexes, definition] } }
}

export function withReadyIndex(state: CatalogState, number: IndexNumber): CatalogState {
  return withIndexAs(state, number, ({ session: _, ...index }) => ({ ...index, state: 'ready' }))
}

/** Assigns the build to the process of another store session. */
export function reassignBuild(state: CatalogState, number: IndexNumber, sessionNumber: number): CatalogState {
  return withIndexAs(state, number, (index) => ({ ...index, session: sessionNumber }))
}

function withIndexAs(
  state: CatalogState,
  number: IndexNumber,
  changed: (index: IndexDefinition) => IndexDefinition,
): CatalogState {
  return { ...state, indexes: state.indexes.map((index) => (index.number === number ? changed(index) : index)) }
}

/** Gives the failed index a new number: existing entries belong to the old one and are purged. */
export function withFailedIndex(
  state: CatalogState,
  number: IndexNumber,
  failure: NonNullable<IndexDefinition['failure']>,
): CatalogState {
  const { counters } = state
  const failed = counters.index as IndexNumber
  return {
    ...state,
    counters: { ...counters, index: counters.index + 1 },
    indexes: state.indexes.map((index): IndexDefinition => {
      if (index.number !== number) return index
      const { session: _, ...rest } = index
      return { ...rest, number: failed, state: 'failed', failure }
    }),
  }
}

export function withoutIndex(state: CatalogState, number: IndexNumber): CatalogState {
  return { ...state, indexes: state.indexes.filter((index) => index.number !== number) }
}

export function representIndex(definition: IndexDefinition, catalog: Catalog): IndexRepresentation {
  const cls = catalog.classByNumber(definition.indexedClass)
  return {
    name: definition.name,
    indexedClass: cls?.name ?? String(definition.indexedClass),
    isUnique: definition.isUnique,
    keyAttributes: definition.keyAttributes.map(({ path, maxStoredStringLength }) => ({
      attributeName: keyPathName(path, cls, catalog),
      ...(maxStoredStringLength === undefined ? {} : { properties: { maxStoredStringLength } }),
    })),
    state: definition.state,
    ...(definition.failure === undefined ? {} : { failure: definition.failure }),
  }
}

function indexedClassOf(catalog: Catalog, name: string): SchemaClass {
  const cls = catalog.findClass(name)
  if (cls === undefined && name === rootClassName)
    throw rootClassRefusal(['indexedClass'], 'it has no attributes to index')
  if (cls === undefined) {
    const hint = didYouMean(
      name,
      catalog.classes.map((candidate) => candidate.name),
    )
    throw commandError('UnknownClass', `There is no class '${truncateForMessage(name)}'.${hint}`, ['indexedClass'])
  }
  if (!cls.isReferenceable) {
    throw commandError(
      'ClassNotReferenceable',
      `Class ${cls.name} is embeddable; only referenceable classes are indexed.`,
      ['indexedClass'],
    )
  }
  return cls
}

function resolveKey(catalog: Catalog, cls: SchemaClass, key: KeyDescription, place: CommandPlace): KeyAttribute {
  const { path, last } = resolveKeyPath(catalog, cls, key.attributeName, place)
  const computed = last.properties?.own.computed
  if (isExpression(computed) && computed.isStored !== true) {
    const message = `Class ${cls.name}: attribute ${last.name} is computed when it is read; only with isStored it can be a key attribute.`
    throw commandError('AttributeNotIndexable', message, place)
  }
  if (notIndexable.includes(last.spec.logicalType)) {
    throw commandError(
      'AttributeNotIndexable',
      `Class ${cls.name}: attribute ${key.attributeName} is of type ${last.spec.logicalType}, which cannot be a key.`,
      place,
    )
  }
  if (last.becoming !== undefined && last.becoming.keepsType !== true) {
    const message = `Class ${cls.name}: the type of attribute ${key.attributeName} is being changed by another request.`
    throw commandError('AttributeInUse', message, place)
  }
  if (!isTruncatedInKeys(last.spec)) return { path }
  return { path, maxStoredStringLength: key.maxStoredStringLength ?? maxStoredStringLengthDefault }
}
