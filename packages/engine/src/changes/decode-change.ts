/** Decodes log entries to changes of objects, links and classes under a catalog. */

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
import { decodeClass, decodeIndex, decodeSequence } from '../schema/catalog-codec.ts'
import type { ClassDefinition, IndexDefinition, SequenceDefinition } from '../schema/class-definition.ts'
import type { Bytes } from '../store/store.ts'
import { type Oid, oidFromBytes } from '../types/oid.ts'
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'

/** A change of a collection stored as links, unless removed with their object. `added` may repeat an element, `removed` may name an absent one. */
export interface LinkChange {
  readonly kind: 'added' | 'removed'
  readonly owner: Oid
  readonly attribute: AttributeNumber
  /** Undefined for a key removed from a map. */
  readonly target: Oid | undefined
  /** The position of a list element, which sorts bytewise. */
  readonly position: Bytes | undefined
  /** The map key, as its codec decodes it. */
  readonly key: unknown
}

/** A change of the catalog: the new definition of a class or index, the removal of an index, or a sequence that was created, restarted or deleted. */
export interface CatalogChange {
  readonly class?: ClassDefinition
  /** Of a class that existed; undefined also in logs of earlier builds. */
  readonly earlierClass?: ClassDefinition | undefined
  readonly index?: IndexDefinition
  readonly removedIndex?: number
  readonly sequence?: SequenceDefinition
  readonly removedSequence?: number
}

/** `changed`: the attributes whose values differ, if there are records before and after. */
export interface RecordChange {
  readonly of: 'object'
  readonly oid: Oid
  readonly format: ClassFormat
  readonly before: Bytes | undefined
  readonly after: Bytes | undefined
  readonly changed: readonly AttributeFormat[]
  /** If present, only these attributes are reported. */
  readonly only?: readonly AttributeFormat[]
}

export interface LinkEntryChange {
  readonly of: 'link'
  readonly change: LinkChange
  readonly attribute: AttributeFormat
  readonly format: ClassFormat
}

/** Of one log entry; for a caller with grants it may concern several classes. */
export interface CatalogChanges {
  readonly of: 'catalog'
  readonly changes: readonly CatalogChange[]
}

export type DecodedChange = RecordChange | LinkEntryChange | CatalogChanges

/** Decodes changes under one catalog, possibly a later one, whose names of attributes and classes are used. */
export class ChangeDecoder {
  private readonly formats: RecordFormats
  private readonly classOf: (oid: Oid) => Promise<ClassNumber | undefined>
  private allFormats: RecordFormats | undefined

  /** `classOf`: for existing and deleted objects. */
  constructor(catalog: Catalog, classOf: (oid: Oid) => Promise<ClassNumber | undefined>) {
    this.formats = recordFormats(catalog)
    this.classOf = classOf
  }

  /** Undefined if nothing is to be reported: the entry follows from another, or has no visible effect. */
  async decode({ key, before, after }: LoggedChange): Promise<DecodedChange | undefined> {
    switch (key[0]) {
      case keySpace.object:
        return this.decodeRecordChange(key, before, after)
      case keySpace.link:
        return this.decodeLink(key, before, after)
      // The next number of a sequence is not reported.
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
    // Rewritten, as in another shape, with the same values.
    return changed.length === 0 ? undefined : { of: 'object', oid, format, before, after, changed }
  }

  /** The format for the record's shape, even if its class has been deleted. */
  private formatOf(record: Bytes): ClassFormat {
    const number = shapeNumberOf(record)
    const { catalog } = this.formats
    const shape = catalog.shape(number)
    const isThere = shape !== undefined && catalog.classByNumber(shape.classNumber) !== undefined
    return (isThere ? this.formats : this.formatsOfAll()).forShape(number)
  }

  private formatOfClass(number: ClassNumber): ClassFormat {
    const cls = this.formats.catalog.classByNumber(number)
    return cls === undefined ? this.formatsOfAll().byNumber(number) : this.formats.of(cls)
  }

  /** Includes deleted classes, which the catalog retains. */
  private formatsOfAll(): RecordFormats {
    if (this.allFormats === undefined) {
      const { state, version } = this.formats.catalog
      const classes = state.classes.map((definition) => ({ ...definition, isDeleted: false }))
      this.allFormats = recordFormats(buildCatalog({ ...state, classes, indexes: [] }, version))
    }
    return this.allFormats
  }

  private async decodeLink(
    key: Bytes,
    before: Bytes | undefined,
    after: Bytes | undefined,
  ): Promise<DecodedChange | undefined> {
    // Removed with its object.
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

/** Undefined for the reverse entries of a list. */
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

/** Undefined for parts that only change together with reported ones. */
function decodeCatalogPart(key: Bytes, before: Bytes | undefined, after: Bytes | undefined): DecodedChange | undefined {
  const [, part] = key
  if (part === catalogPart.class && after !== undefined) {
    const earlierClass = before === undefined ? undefined : decodeClass(before)
    return { of: 'catalog', changes: [{ class: decodeClass(after), earlierClass }] }
  }
  if (part === catalogPart.sequence) {
    return after === undefined
      ? { of: 'catalog', changes: [{ removedSequence: numberOfCatalogKey(key) }] }
      : { of: 'catalog', changes: [{ sequence: decodeSequence(after) }] }
  }
  if (part !== catalogPart.index) return undefined
  return after === undefined
    ? { of: 'catalog', changes: [{ removedIndex: numberOfCatalogKey(key) }] }
    : { of: 'catalog', changes: [{ index: decodeIndex(after) }] }
}
