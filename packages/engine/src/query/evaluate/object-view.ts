/** View of a stored object for queries: its record, decoded one attribute at a time. */
import type { JsonWriter } from '../../bytes/json-writer.ts'
import type { ClassFormat } from '../../records/class-format.ts'
import { isLongRecord, recordHeaderBytes, shapeNumberOf } from '../../records/record-format.ts'
import type { Bytes, Entry } from '../../store/store.ts'
import { type Oid, oidFromBytes } from '../../types/oid.ts'
import type { ShapeNumber } from '../../types/type-spec.ts'
import type { BoundAttribute } from '../bind/bound.ts'
import { isNothing } from '../values/compare.ts'

export class ObjectView {
  /** Undefined where the object does not exist: all of its attributes are null. */
  readonly format: ClassFormat | undefined
  readonly record: Bytes
  /** Set once a row is charged for the record, however many rows refer to it. */
  isCharged = false
  private readonly shape: ShapeNumber
  /** By attribute; see `cachedValue`. */
  private cachedValues: unknown[] | undefined
  private text: Oid | undefined
  /** Key of the record; undefined where the OID was given as text. */
  readonly key: Bytes | undefined

  /** Takes either the OID as text, or the key of the record, from which the OID is decoded on demand. */
  constructor(oid: Oid | undefined, key: Bytes | undefined, format: ClassFormat | undefined, record: Bytes) {
    this.text = oid
    this.key = key
    this.format = format
    this.record = record
    this.shape = (format === undefined ? 0 : shapeNumberOf(record)) as ShapeNumber
  }

  get oid(): Oid {
    if (this.text === undefined) this.text = oidFromBytes(this.key as Bytes, 1)
    return this.text
  }

  /** Whether the object does not exist. */
  get isMissing(): boolean {
    return this.format === undefined
  }

  /** Approximate memory in bytes beyond the view itself. */
  get bytes(): number {
    return this.record.length
  }

  /** Whether reading its values may exceed a time slice: expressions give values of very many embedded objects. */
  get isLong(): boolean {
    return this.format !== undefined && isLongRecord(this.record) && this.format.evaluatedWithin.length > 0
  }

  /** Value of an attribute that is stored in the record. */
  value(index: number): unknown {
    return this.format === undefined ? null : this.format.readValue(this.record, recordHeaderBytes, this.shape, index)
  }

  /** `value`, decoded once: for objects that many rows refer to. The cache takes memory of the order of the record. */
  cachedValue(index: number): unknown {
    const cached = this.cachedValues?.[index]
    if (cached !== undefined || this.format === undefined) return cached ?? null
    const value = this.value(index)
    this.cachedValues ??= []
    this.cachedValues[index] = value
    return value
  }

  /** Offset within the record of the eight bytes of a reference; -1 where it is stored otherwise, or is null. */
  locateReference(index: number): number {
    const { format } = this
    return format === undefined ? -1 : format.locateReference(this.record, recordHeaderBytes, this.shape, index)
  }

  /** The object that a reference in the record points to; undefined for null. */
  target(index: number, reader: ObjectReader): ObjectView | undefined {
    const at = this.locateReference(index)
    if (at >= 0) return reader.objectAt(this.record, at)
    const oid = this.value(index)
    return isNothing(oid) ? undefined : reader.object(oid as Oid)
  }

  /** Writes the value of an attribute that is stored in the record; false, with nothing written, where there is no record. */
  writeStoredJson(json: JsonWriter, index: number): boolean {
    const { format, record, shape } = this
    if (format === undefined) json.ascii('null')
    else format.writeValueJson(json, record, recordHeaderBytes, shape, index)
    return true
  }

  /** A view that stays valid when borrowed bytes are reused. */
  copy(): ObjectView {
    const key = this.key === undefined ? undefined : Buffer.from(this.key)
    return new ObjectView(this.text, key, this.format, Buffer.from(this.record))
  }
}

/** The first or last elements of a collection, in its order. */
export interface LinkEnd {
  readonly isLast: boolean
  readonly max: number
}

/** Reads objects and links for expressions. Throws `needsFetch` where the store is asynchronous: the row is then evaluated again. */
export interface ObjectReader {
  object(oid: Oid): ObjectView
  /** The object whose OID is encoded at `at`; undefined for the null reference. */
  objectAt(bytes: Bytes, at: number): ObjectView | undefined
  /**
   * `objectAt` that requests instead of throwing: `requested` if the next fetch includes the object, `requestedBefore` if it was requested since
   * the last.
   */
  request(bytes: Bytes, at: number): ObjectView | undefined | 'requested' | 'requestedBefore'
  /** Announces that all of these objects will be read, so that one fetch loads them. */
  prefetch(oids: readonly unknown[]): void
  /** Elements of a list or set, or pairs of a map, that are stored as link entries. */
  links(view: ObjectView, attribute: BoundAttribute): readonly unknown[]
  /** Reads at most `end.max` elements of a list or set. */
  endLinks(view: ObjectView, attribute: BoundAttribute, end: LinkEnd): readonly unknown[]
  /** Number of links, or at least `max` where there are as many. The entries are not retained. */
  linkCount(view: ObjectView, attribute: BoundAttribute, max?: number): number
  /** All link entries as stored; `index`: position of the attribute in the object's class. */
  linkEntries(view: ObjectView, index: number): readonly Entry[]
}
