/** Determines which lines of a load may change keys of unique indexes, by which other lines find objects, or which they take (contract 2.2.23). */
import type { Catalog } from '../schema/catalog.ts'
import type { Attribute } from '../schema/class-definition.ts'
import type { AttributeNumber, TypeSpec } from '../types/type-spec.ts'
import { type BulkCommand, type BulkCreate, type BulkUpdate, indexOf } from './bulk-command.ts'
import { referredIn } from './named-objects.ts'

/** What may change keys. Attributes are given by name, of whatever class: which class a line is about may be unknown. */
interface Keys {
  /** Attributes in the keys. */
  readonly attributes: Set<string>
  /** Attributes that change links in keys of other objects. */
  readonly ofLinks: Set<string>
  /** A key has computed values or values with `onUpdate`, which any change of the object may change. */
  isAny: boolean
  /** A key has references, which deletions of other objects may clear. */
  hasReferences: boolean
}

export interface KeyChanges {
  /** By the name of a unique index. */
  readonly ofIndexes: ReadonlyMap<string, Readonly<Keys>>
  /** Of all unique indexes. */
  readonly all: Readonly<Keys>
  /** Attributes that change read-only links of others. */
  readonly ofReadOnlyLinks: ReadonlySet<string>
}

const cached = new WeakMap<Catalog, KeyChanges>()

export function keyChangesOf(catalog: Catalog): KeyChanges {
  const found = cached.get(catalog) ?? read(catalog)
  cached.set(catalog, found)
  return found
}

const noKeys = (): Keys => ({ attributes: new Set(), ofLinks: new Set(), isAny: false, hasReferences: false })

function read(catalog: Catalog): KeyChanges {
  const all = noKeys()
  const ofIndexes = new Map<string, Keys>()
  for (const { isUnique, keyAttributes, name } of catalog.indexes) {
    if (!isUnique) continue
    const own = noKeys()
    ofIndexes.set(name, own)
    for (const number of keyAttributes.flatMap(({ path }) => path)) {
      for (const keys of [own, all]) addAttribute(keys, catalog, number)
    }
  }
  const ofReadOnlyLinks = new Set<string>()
  for (const { spec, properties } of catalog.classes.flatMap(({ attributes }) => attributes)) {
    const inverse = properties?.own.isReadOnly === true ? inverseOf(catalog, spec) : undefined
    if (inverse !== undefined) ofReadOnlyLinks.add(inverse.name)
  }
  return { ofIndexes, all, ofReadOnlyLinks }
}

function addAttribute(keys: Keys, catalog: Catalog, number: AttributeNumber): void {
  const attribute = catalog.attribute(number)
  if (attribute === undefined) return
  keys.attributes.add(attribute.name)
  const { computed, onUpdate } = attribute.properties?.own ?? {}
  if (computed !== undefined || onUpdate !== undefined) keys.isAny = true
  if (attribute.spec.logicalType !== 'reference') return
  keys.hasReferences = true
  const inverse = inverseOf(catalog, attribute.spec)
  if (inverse === undefined) return
  keys.ofLinks.add(inverse.name)
  // A partner that is taken over leaves another object without one.
  if (inverse.spec.logicalType === 'reference') keys.ofLinks.add(attribute.name)
}

function inverseOf(catalog: Catalog, spec: TypeSpec): Attribute | undefined {
  const link = spec.logicalType === 'list' || spec.logicalType === 'set' ? spec.element : spec
  const inverse = link.logicalType === 'reference' ? link.inverseAttribute : null
  return inverse === null ? undefined : catalog.attribute(inverse)
}

/**
 * Whether the line may change keys of the index by which it finds its object, beside that of an object that it creates. `upsertOn`:
 * the index by which lines that create find objects.
 */
export function mayChangeKeys(command: BulkCommand, { ofIndexes, all }: KeyChanges, upsertOn?: string): boolean {
  const keys = ofIndexes.get(indexOf(command, upsertOn) ?? '') ?? all
  if (command.kind === 'delete') return keys.hasReferences
  const names = namesIn(command.attributes)
  if (keys.isAny || names.some((name) => keys.ofLinks.has(name))) return true
  return command.kind === 'update' && names.some((name) => keys.attributes.has(name))
}

/** Whether the key by which the line finds its object contains the object of another line. */
export function refersInKey(command: BulkCommand, { ofIndexes }: KeyChanges, upsertOn?: string): boolean {
  if (command.refersTo === undefined) return false
  if (command.kind !== 'create') return 'key' in command.target && referredIn(command.target.key.values) !== undefined
  const keys = ofIndexes.get(upsertOn ?? '')
  return Object.entries(command.attributes).some(([name, value]) => {
    return keys?.attributes.has(baseName(name)) === true && referredIn(value) !== undefined
  })
}

/** Whether the line may take a unique key from an object. */
function mayFreeKeys(command: BulkCreate | BulkUpdate, { ofIndexes, all }: KeyChanges, upsertOn?: string): boolean {
  const names = namesIn(command.attributes)
  if (names.some((name) => all.ofLinks.has(name))) return true
  if (command.kind === 'create' && upsertOn === undefined) return false
  const own = command.kind === 'create' ? ofIndexes.get(upsertOn ?? '')?.attributes : undefined
  return all.isAny || names.some((name) => all.attributes.has(name) && own?.has(name) !== true)
}

/** Whether the line has to see what is stored of the lines before it. */
export function mustSeeStored(command: BulkCommand, keys: KeyChanges, upsertOn?: string): boolean {
  if (command.kind === 'delete') return false
  const changesReadOnly = namesIn(command.attributes).some((name) => keys.ofReadOnlyLinks.has(name))
  return changesReadOnly || mayFreeKeys(command, keys, upsertOn)
}

function namesIn(attributes: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(attributes).map(baseName)
}

/** Without the class that a hidden attribute is named with. */
function baseName(name: string): string {
  return name.slice(name.lastIndexOf(':') + 1)
}
