/** Finds objects by the values of a unique index: the ones that bulk lines update, upsert or delete (contract 2.2.9). */
import { AshlarError, truncateForMessage } from '../errors.ts'
import { type IndexKeyFormat, indexKeyFormat, makeIndexKey } from '../indexes/index-key.ts'
import { applyChange } from '../records/apply-change.ts'
import type { AttributeChange } from '../records/attribute-change.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { encodeValue } from '../records/same-value.ts'
import { readCreateObject } from '../requests/read-object-command.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { IndexDefinition } from '../schema/class-definition.ts'
import { formatForMessage } from '../types/logical-type.ts'
import { noOid, type Oid, oidFromBytes } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import type { UniqueKey } from './bulk-command.ts'

/** The bytes of an index key as a latin1 string. */
export type KeyText = string

export class UniqueKeys {
  private readonly unit: UnitOfWork
  private readonly indexes = new Map<string, IndexDefinition>()
  private readonly formats = new Map<SchemaClass, Map<IndexDefinition, IndexKeyFormat>>()
  /** Holders of keys looked up so far; undefined if no object has the key. */
  private readonly holders = new Map<KeyText, Oid | undefined>()

  constructor(unit: UnitOfWork) {
    this.unit = unit
  }

  /** Throws like `lookupIndex`. */
  index(name: string): IndexDefinition {
    const cached = this.indexes.get(name)
    if (cached !== undefined) return cached
    const index = lookupIndex(this.unit.commandCatalog, name)
    this.indexes.set(name, index)
    return index
  }

  /** Undefined if a part is null: such keys are not unique. Throws ValueNotAllowed if the index excludes the class or a key attribute is missing. */
  keyOf(index: IndexDefinition, cls: SchemaClass, changes: readonly AttributeChange[]): KeyText | undefined {
    const keyFormat = this.formatOf(index, cls)
    const { values } = this.unit.commandFormats.of(cls).defaultValues()
    const presentAttributes = new Set<number>()
    for (const { attribute, change } of changes) {
      if (!keyFormat.parts.some(({ path }) => path[0] === attribute.index)) continue
      const value = applyChange(attribute, values[attribute.index], change)
      values[attribute.index] = attribute.embedded === undefined ? value : asStored(attribute, value)
      presentAttributes.add(attribute.index)
    }
    const missing = keyFormat.parts.find(({ path }) => !presentAttributes.has(path[0] as number))
    if (missing !== undefined) {
      const message = `Class ${cls.name}: ${missing.name} is missing, by which index '${index.name}' finds the object.`
      throw new AshlarError('ValueNotAllowed', message, [
        { place: ['attributes', missing.name], message: 'is not given' },
      ])
    }
    const { key, isUniqueKey } = makeIndexKey(keyFormat, values, noOid)
    return isUniqueKey ? key.toString('latin1') : undefined
  }

  /** Throws like `keyOf`, and UnknownAttribute and value errors. */
  async keyOfValues(key: UniqueKey): Promise<KeyText | undefined> {
    try {
      return await this.readKey(key)
    } catch (error) {
      throw error instanceof AshlarError ? inKey(error) : error
    }
  }

  private async readKey({ index: name, values }: UniqueKey): Promise<KeyText | undefined> {
    const index = this.index(name)
    const cls = this.unit.commandCatalog.classByNumber(index.indexedClass)
    if (cls === undefined) throw new AshlarError('IndexNotFound', `There is no index '${truncateForMessage(name)}'.`)
    const { changes } = await readCreateObject(this.unit.commandCatalog, cls.name, values)
    const { parts } = this.formatOf(index, cls)
    const other = changes.find(({ attribute }) => !parts.some(({ path }) => path[0] === attribute.index))
    if (other !== undefined) {
      const message = `Index '${name}' has no key attribute '${truncateForMessage(other.name)}'.`
      throw new AshlarError('UnknownAttribute', message)
    }
    return this.keyOf(index, cls, changes)
  }

  /** Looks up the keys not looked up yet, and requires the results to hold until the commit. */
  async find(keys: readonly KeyText[]): Promise<void> {
    const unread = [...new Set(keys)].filter((key) => !this.holders.has(key))
    const found = await this.unit.transaction.readAndRequire(unread.map((key) => Buffer.from(key, 'latin1')))
    for (const [i, key] of unread.entries()) {
      const value = found[i]
      this.holders.set(key, value === undefined ? undefined : oidFromBytes(value, 0))
    }
  }

  /** The key must have been looked up. */
  holderOf(key: KeyText): Oid | undefined {
    return this.holders.get(key)
  }

  private formatOf(index: IndexDefinition, cls: SchemaClass): IndexKeyFormat {
    if (!cls.isOrInherits(index.indexedClass)) {
      const message = `Index '${index.name}' does not cover objects of class ${cls.name}.`
      throw new AshlarError('ValueNotAllowed', message, [{ place: ['class'], message: 'is not covered by the index' }])
    }
    const classFormats = this.formats.get(cls) ?? new Map<IndexDefinition, IndexKeyFormat>()
    this.formats.set(cls, classFormats)
    const format = classFormats.get(index) ?? indexKeyFormat(index, this.unit.commandFormats.of(cls))
    classFormats.set(index, format)
    return format
  }
}

/** With the stored values of computed attributes, and null for defaults that are evaluated when the object is written. */
function asStored({ codec }: AttributeFormat, value: unknown): unknown {
  const bytes = encodeValue(codec, value)
  return codec.read(bytes, 0, bytes.length)
}

/** Returns a unique index for lookups. Throws IndexNotFound, ValueNotAllowed. */
export function lookupIndex(catalog: Catalog, name: string): IndexDefinition {
  const index = catalog.indexByName(name)
  if (index === undefined) throw new AshlarError('IndexNotFound', `There is no index '${truncateForMessage(name)}'.`)
  if (!index.isUnique) {
    throw new AshlarError(
      'ValueNotAllowed',
      `Index '${truncateForMessage(name)}' is not unique: its values do not tell which object is meant.`,
    )
  }
  if (index.state !== 'ready') {
    throw new AshlarError(
      'ValueNotAllowed',
      `Index '${truncateForMessage(name)}' is ${index.state}: it cannot tell yet which object is meant.`,
    )
  }
  return index
}

/** Moves error places below the key. */
function inKey({ type, message, errors, extensions }: AshlarError): AshlarError {
  const details = errors.map(({ place: [field, ...rest], message: what }) => {
    return { place: field === 'attributes' ? ['key', ...rest] : [], message: what }
  })
  return new AshlarError(type, message, details, extensions)
}

export function noSuchKey({ index, values }: UniqueKey): AshlarError {
  const named = Object.entries(values).map(([name, value]) => `${truncateForMessage(name)} ${formatForMessage(value)}`)
  return new AshlarError('ObjectNotFound', `There is no object with ${named.join(', ')} (unique index '${index}').`)
}
