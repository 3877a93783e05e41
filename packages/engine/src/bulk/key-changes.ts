/** Determines which lines of a load may change keys of unique indexes, by which other lines find objects, or which they take (contract 2.2.23). */
import type { Catalog } from '../schema/catalog.ts'
import type { AttributeNumber, TypeSpec } from '../types/type-spec.ts'
import type { BulkCommand } from './bulk-command.ts'

/** Names of attributes, of whatever class: which class a line is about may be unknown. */
export interface KeyChanges {
  /** Attributes in keys of unique indexes. */
  readonly inKeys: ReadonlySet<string>
  /** Attributes that change links in such keys, of this object or of others. */
  readonly ofLinks: ReadonlySet<string>
  /** Attributes that change read-only links of others. */
  readonly ofReadOnlyLinks: ReadonlySet<string>
  /** A key has computed values or values with `onUpdate`, which any change of the object may change. */
  readonly isAny: boolean
  /** A key has references, which deletions of other objects may clear. */
  readonly hasReferences: boolean
  /** The attributes in the keys of each unique index, by its name. */
  readonly ofIndexes: ReadonlyMap<string, ReadonlySet<string>>
}

const cached = new WeakMap<Catalog, KeyChanges>()

export function keyChangesOf(catalog: Catalog): KeyChanges {
  const found = cached.get(catalog) ?? read(catalog)
  cached.set(catalog, found)
  return found
}

function read(catalog: Catalog): KeyChanges {
  const inKeys = new Set<string>()
  const ofLinks = new Set<string>()
  const ofReadOnlyLinks = new Set<string>()
  const ofIndexes = new Map<string, Set<string>>()
  let [isAny, hasReferences] = [false, false]
  for (const { isUnique, keyAttributes, name } of catalog.indexes) {
    if (!isUnique) continue
    const ofIndex = new Set<string>()
    ofIndexes.set(name, ofIndex)
    for (const number of keyAttributes.flatMap(({ path }) => path)) {
      const attribute = catalog.attribute(number)
      if (attribute === undefined) continue
      inKeys.add(attribute.name)
      ofIndex.add(attribute.name)
      const { computed, onUpdate } = attribute.properties?.own ?? {}
      if (computed !== undefined || onUpdate !== undefined) isAny = true
      if (attribute.spec.logicalType !== 'reference') continue
      hasReferences = true
      const inverse = nameOfInverse(catalog, attribute.spec)
      if (inverse !== undefined) ofLinks.add(inverse).add(attribute.name)
    }
  }
  for (const { spec, properties } of catalog.classes.flatMap(({ attributes }) => attributes)) {
    const inverse = properties?.own.isReadOnly === true ? nameOfInverse(catalog, spec) : undefined
    if (inverse !== undefined) ofReadOnlyLinks.add(inverse)
  }
  return { inKeys, ofLinks, ofReadOnlyLinks, isAny, hasReferences, ofIndexes }
}

function nameOfInverse(catalog: Catalog, spec: TypeSpec): string | undefined {
  const link = spec.logicalType === 'list' || spec.logicalType === 'set' ? spec.element : spec
  const inverse: AttributeNumber | null = link.logicalType === 'reference' ? link.inverseAttribute : null
  return inverse === null ? undefined : catalog.attribute(inverse)?.name
}

/** Whether the line may take the key of an object from it. `upsertOn`: the index by which lines that create find objects. */
function mayFreeKeys(command: BulkCommand, keys: KeyChanges, upsertOn: string | undefined): boolean {
  if (command.kind === 'delete') return false
  const names = namesIn(command.attributes)
  if (names.some((name) => keys.ofLinks.has(name))) return true
  if (command.kind === 'create' && upsertOn === undefined) return false
  const own = command.kind === 'create' && upsertOn !== undefined ? keys.ofIndexes.get(upsertOn) : undefined
  return keys.isAny || names.some((name) => keys.inKeys.has(name) && own?.has(name) !== true)
}

/** Whether the line may change the keys by which others find objects, beside that of an object that it creates. */
export function mayChangeKeys(command: BulkCommand, keys: KeyChanges, upsertOn: string | undefined): boolean {
  return command.kind === 'delete' ? keys.hasReferences : mayFreeKeys(command, keys, upsertOn)
}

/** Whether the line has to see what is stored of the lines before it. */
export function mustSeeStored(command: BulkCommand, keys: KeyChanges, upsertOn: string | undefined): boolean {
  if (command.kind === 'delete') return false
  const changesReadOnly = namesIn(command.attributes).some((name) => keys.ofReadOnlyLinks.has(name))
  return changesReadOnly || mayFreeKeys(command, keys, upsertOn)
}

/** Without the classes that hidden attributes are named with. */
function namesIn(attributes: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(attributes).map((name) => name.slice(name.lastIndexOf(':') + 1))
}
