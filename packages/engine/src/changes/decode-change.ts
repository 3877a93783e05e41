/** What is logged of entries, in terms of objects, links and classes under a catalog. */

import { catalogPart } from '../bytes/key-layout.ts'
import { keySpace } from '../bytes/key-space.ts'
import { numberOfCatalogKey } from '../catalog/catalog-keys.ts'
import type { LoggedChange } from '../change-log/logged-change.ts'
import { keyOfMapEntry, mapKeyCodec } from '../links/map-entries.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { attributeOfKey, kindOfKey, linkKind, ownerOfKey, positionOfKey, targetOfKey } from '../records/link-keys.ts'
import { oidOfObjectKey } from '../records/object-key.ts'
import { decodeRecord, shapeNumberOf } from '../records/record-format.ts'
import { type RecordFormats, recordFormats } from '../records/record-formats.ts'
import { isSameValue } from '../records/same-value.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog } from '../schema/catalog.ts'
import { decodeClass, decodeIndex } from '../schema/catalog-codec.ts'
import type { ClassDefinition, IndexDefinition } from '../schema/class-definition.ts'
import type { Bytes } from '../store/store.ts'
import { type Oid, oidFromBytes } from '../types/oid.ts'
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'

/**
 * An element of a collection that is stored as links. Links of a deleted object are not reported: they go with it. `added` may put an element again,
 * and `removed` may take one away that is gone already.
 */
export interface LinkChange {
  readonly kind: 'added' | 'removed'
  readonly owner: Oid
  readonly attribute: AttributeNumber
  /** Undefined for a key that is removed from a map. */
  readonly target: Oid | undefined
  /** Where the element of a list stands, in the order of its bytes. */
  readonly position: Bytes | undefined
  /** Of a map, as the codec of its keys keeps it. */
  readonly key: unknown
}

/** Of the catalog: what was written of a class or an index, which is no longer there where it was removed. */
export interface CatalogChange {
  readonly class?: ClassDefinition
  /** Of a class that was there; undefined also where an earlier build logged it. */
  readonly earlierClass?: ClassDefinition | undefined
  readonly index?: IndexDefinition
  /** Of an index that was removed. */
  readonly removedIndex?: number
}

/** `changed`: the attributes whose values differ, where there are a record before and one after. */
export interface RecordChange {
  readonly of: 'object'
  readonly oid: Oid
  readonly format: ClassFormat
  readonly before: Bytes | undefined
  readonly after: Bytes | undefined
  readonly changed: readonly AttributeFormat[]
  /** Of what is told: those attributes alone; all without. */
  readonly only?: readonly AttributeFormat[]
}

export interface LinkEntryChange {
  readonly of: 'link'
  readonly change: LinkChange
  readonly attribute: AttributeFormat
  readonly format: ClassFormat
}

/** Of one entry of the log; a caller with grants may be told of several classes by it. */
export interface CatalogChanges {
  readonly of: 'catalog'
  readonly changes: readonly CatalogChange[]
}

export type DecodedChange = RecordChange | LinkEntryChange | CatalogChanges

/** Changes as they show under one catalog, which may be later than they are: attributes and classes have the names that they have there. */
export class ChangeDecoder {
  private readonly formats: RecordFormats
  private readonly classOf: (oid: Oid) => Promise<ClassNumber | undefined>
  private ofAll: RecordFormats | undefined

  /** `classOf`: of objects that are or have been. */
  constructor(catalog: Catalog, classOf: (oid: Oid) => Promise<ClassNumber | undefined>) {
    this.formats = recordFormats(catalog)
    this.classOf = classOf
  }

  /** Undefined where nobody is told: such an entry follows from another, or shows the same as before. */
  async decode({ key, before, after }: LoggedChange): Promise<DecodedChange | undefined> {
    switch (key[0]) {
      case keySpace.object:
        return this.decodeRecordChange(key, before, after)
      case keySpace.link:
        return this.decodeLink(key, before, after)
      // What number is next is no change that anybody is told of.
      case keySpace.sequence:
        return undefined
      default:
        return decodeCatalogPart(key, before, after)
    }
  }

  private decodeRecordChange(
    key: Bytes,
    before: Bytes | undefined,
    after: Bytes | undefined,
  ): DecodedChange | undefined {
    const record = after ?? before
    if (record === undefined) return undefined
    const oid = oidOfObjectKey(key)
    const format = this.formatOf(record)
    if (before === undefined || after === undefined) return { of: 'object', oid, format, before, after, changed: [] }
    const changed = changedAttributes(format, decodeRecord(format, before).values, decodeRecord(format, after).values)
    // Written anew, as in another shape: it shows the same.
    return changed.length === 0 ? undefined : { of: 'object', oid, format, before, after, changed }
  }

  /** Of records of the shape, also where their class is deleted by now. */
  private formatOf(record: Bytes): ClassFormat {
    const number = shapeNumberOf(record)
    const { catalog } = this.formats
    const shape = catalog.shape(number)
    const isThere = shape !== undefined && catalog.classByNumber(shape.classNumber) !== undefined
    return (isThere ? this.formats : this.formatsOfAll()).ofShape(number)
  }

  private formatOfClass(number: ClassNumber): ClassFormat {
    const cls = this.formats.catalog.classByNumber(number)
    return cls === undefined ? this.formatsOfAll().byNumber(number) : this.formats.of(cls)
  }

  /** Those of deleted classes too, which the catalog goes on to hold. */
  private formatsOfAll(): RecordFormats {
    if (this.ofAll === undefined) {
      const { state, version } = this.formats.catalog
      const classes = state.classes.map((definition) => ({ ...definition, isDeleted: false }))
      this.ofAll = recordFormats(buildCatalog({ ...state, classes, indexes: [] }, version))
    }
    return this.ofAll
  }

  private async decodeLink(
    key: Bytes,
    before: Bytes | undefined,
    after: Bytes | undefined,
  ): Promise<DecodedChange | undefined> {
    // It goes with its object.
    if (after === undefined && before === undefined) return undefined
    const owner = ownerOfKey(key)
    const number = await this.classOf(owner)
    if (number === undefined) return undefined
    const format = this.formatOfClass(number)
    const attribute = format.attributes.find((one) => one.attribute.number === attributeOfKey(key))
    if (attribute === undefined) return undefined
    const change = linkChange(owner, attribute, key, after ?? before ?? nothing, after !== undefined)
    return change === undefined ? undefined : { of: 'link', change, attribute, format }
  }
}

const nothing = Buffer.alloc(0)

/** Undefined for the entries beside those of a list that lead back to them. */
function linkChange(
  owner: Oid,
  format: AttributeFormat,
  key: Bytes,
  value: Bytes,
  isAdded: boolean,
): LinkChange | undefined {
  const { attribute, linkStorage } = format
  const kind = isAdded ? 'added' : 'removed'
  const change = {
    kind,
    owner,
    attribute: attribute.number,
    target: undefined,
    position: undefined,
    key: undefined,
  } as const
  const stored = kindOfKey(key)
  if (linkStorage === 'set' && stored === linkKind.target) return { ...change, target: targetOfKey(key) }
  if (linkStorage === 'list' && stored === linkKind.position) {
    return { ...change, target: oidFromBytes(value, 0), position: positionOfKey(key) }
  }
  if (linkStorage === 'map' && stored === linkKind.name && value.length > 0) {
    const target = isAdded ? oidFromBytes(value, 0) : undefined
    return { ...change, target, key: keyOfMapEntry(mapKeyCodec(format), { key, value }) }
  }
  return undefined
}

function changedAttributes(
  { attributes }: ClassFormat,
  before: readonly unknown[],
  after: readonly unknown[],
): AttributeFormat[] {
  return attributes.filter(({ codec, index, linkStorage }) => {
    return linkStorage === undefined && !isSameValue(codec, before[index], after[index])
  })
}

/** Undefined for the parts that go along with others. */
function decodeCatalogPart(key: Bytes, before: Bytes | undefined, after: Bytes | undefined): DecodedChange | undefined {
  const [, part] = key
  if (part === catalogPart.class && after !== undefined) {
    const earlierClass = before === undefined ? undefined : decodeClass(before)
    return { of: 'catalog', changes: [{ class: decodeClass(after), earlierClass }] }
  }
  if (part !== catalogPart.index) return undefined
  return after === undefined
    ? { of: 'catalog', changes: [{ removedIndex: numberOfCatalogKey(key) }] }
    : { of: 'catalog', changes: [{ index: decodeIndex(after) }] }
}
