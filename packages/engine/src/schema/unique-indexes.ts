/** The indexes that enforce `isUnique`: named after the attribute, created and deleted with the property (contract 10.5). */
import type { CommandPlace } from '../errors.ts'
import { maxStoredStringLengthDefault } from '../limits.ts'
import type { AttributeNumber, ClassNumber, TypeSpec } from '../types/type-spec.ts'
import type { Attribute, CatalogState, IndexDefinition, IndexNumber } from './class-definition.ts'
import { commandError } from './command-error.ts'
import type { PropertiesOfAttribute } from './properties/index.ts'

/** An attribute that becomes unique. */
export interface UniqueAttribute {
  readonly attribute: AttributeNumber
  readonly spec: TypeSpec
  /** The class that declares it. */
  readonly owner: ClassNumber
}

export function isUniqueIn(properties: PropertiesOfAttribute | undefined): boolean {
  return properties?.own.isUnique === true
}

function uniqueIndexName(className: string, attributeName: string): string {
  return `${className}.${attributeName}`
}

/** Adds the indexes to the state and returns their numbers. `building`: by the process of that store session; if missing, they are ready. */
export function withIndexesFor(
  state: CatalogState,
  keys: readonly UniqueAttribute[],
  building: { readonly session: number } | undefined,
): { readonly state: CatalogState; readonly added: readonly IndexDefinition[] } {
  if (keys.length === 0) return { state, added: [] }
  let next = state.counters.index
  const added = keys.map(({ attribute, spec, owner }): IndexDefinition => {
    const path = { path: [attribute] }
    return {
      number: next++ as IndexNumber,
      name: nameFor(state, owner, attribute),
      indexedClass: owner,
      isUnique: true,
      keyAttributes: [
        spec.logicalType === 'string' ? { ...path, maxStoredStringLength: maxStoredStringLengthDefault } : path,
      ],
      attribute,
      ...(building === undefined ? { state: 'ready' } : { state: 'building', ...building }),
    }
  })
  const counters = { ...state.counters, index: next }
  return { state: { ...state, counters, indexes: [...state.indexes, ...added] }, added }
}

function nameFor({ classes }: CatalogState, owner: ClassNumber, attribute: AttributeNumber): string {
  const cls = classes.find(({ number }) => number === owner)
  const { name } = cls?.attributes.find(({ number }) => number === attribute) ?? {}
  return uniqueIndexName(cls?.name ?? String(owner), name ?? String(attribute))
}

/** Renames the indexes with their attributes, and removes those of attributes that are no longer unique. */
export function withSettledIndexes(state: CatalogState): CatalogState {
  if (state.indexes.every(({ attribute }) => attribute === undefined)) return state
  const keepers = new Map<AttributeNumber, string>()
  for (const { name, isDeleted, attributes } of state.classes) {
    if (isDeleted) continue
    for (const one of attributes) if (keepsIndex(one)) keepers.set(one.number, uniqueIndexName(name, one.name))
  }
  const indexes = state.indexes.flatMap((index): IndexDefinition[] => {
    if (index.attribute === undefined) return [index]
    const name = keepers.get(index.attribute)
    if (name === undefined) return []
    return [name === index.name ? index : { ...index, name }]
  })
  const isSame = indexes.length === state.indexes.length && indexes.every((index, i) => index === state.indexes[i])
  return isSame ? state : { ...state, indexes }
}

function keepsIndex({ properties, becoming }: Attribute): boolean {
  return isUniqueIn(properties) || isUniqueIn(becoming?.properties)
}

/** The name of such an index must differ from those created explicitly. Throws IndexExists. */
export function checkIndexNames({ indexes }: CatalogState, place: CommandPlace): void {
  const named = new Map<string, IndexDefinition>()
  for (const index of indexes) {
    if (index.replaces !== undefined) continue
    const other = named.get(index.name)
    named.set(index.name, index)
    if (other === undefined || (other.attribute === undefined && index.attribute === undefined)) continue
    const message = `There is an index '${index.name}' already, which would be that of the unique attribute.`
    throw commandError('IndexExists', message, place)
  }
}
