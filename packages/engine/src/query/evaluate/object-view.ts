/** An object as a query sees it: its record, read one attribute at a time. */
import type { JsonWriter } from '../../bytes/json-writer.ts'
import type { ClassFormat } from '../../records/class-format.ts'
import { recordHeaderBytes, shapeNumberOf } from '../../records/record-format.ts'
import type { Bytes, Entry } from '../../store/store.ts'
import { type Oid, oidFromBytes } from '../../types/oid.ts'
import type { ShapeNumber } from '../../types/type-spec.ts'
import type { BoundAttribute } from '../bind/bound.ts'
import { isNothing } from '../values/compare.ts'

export class ObjectView {
  /** Undefined where there is no such object: every attribute of it is null. */
  readonly format: ClassFormat | undefined
  readonly record: Bytes
  /** Rows that hold it, which may be many, are charged for the record once. */
  isCharged = false
  private readonly shape: ShapeNumber
  /** By attribute; see `knownValue`. */
  private known: unknown[] | undefined
  private text: Oid | undefined
  /** Of the record; undefined where the OID was given as text. */
  readonly key: Bytes | undefined

  /** The OID as text, or the key of the record, from which it is read when it is asked for. */
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

  /** About how many bytes it takes beside its place. */
  get bytes(): number {
    return this.record.length
  }

  /** Of an attribute that is kept in the record. */
  value(index: number): unknown {
    return this.format === undefined ? null : this.format.readValue(this.record, recordHeaderBytes, this.shape, index)
  }

  /** The same, read once, of an object to which many refer. What it takes to be kept is of the order of the record. */
  knownValue(index: number): unknown {
    const known = this.known?.[index]
    if (known !== undefined || this.format === undefined) return known ?? null
    const value = this.value(index)
    this.known ??= []
    this.known[index] = value
    return value
  }

  /** Where in the record the eight bytes of a reference are; -1 where they are not stored so, or it is null. */
  locateReference(index: number): number {
    const { format } = this
    return format === undefined ? -1 : format.locateReference(this.record, recordHeaderBytes, this.shape, index)
  }

  /** The object that a reference in the record names; undefined for none. */
  target(index: number, reader: ObjectReader): ObjectView | undefined {
    const at = this.locateReference(index)
    if (at >= 0) return reader.objectAt(this.record, at)
    const oid = this.value(index)
    return isNothing(oid) ? undefined : reader.object(oid as Oid)
  }

  /** Writes the value of an attribute that is kept in the record; false, and nothing written, where there is no record. */
  writeStoredJson(json: JsonWriter, index: number): boolean {
    const { format, record, shape } = this
    if (format === undefined) json.ascii('null')
    else format.writeValueJson(json, record, recordHeaderBytes, shape, index)
    return true
  }

  /** A view that stays valid when the borrowed bytes of this one do not. */
  copy(): ObjectView {
    const key = this.key === undefined ? undefined : Buffer.from(this.key)
    return new ObjectView(this.text, key, this.format, Buffer.from(this.record))
  }
}

/** The first or the last elements of a collection, in its order. */
export interface LinkEnd {
  readonly isLast: boolean
  readonly max: number
}

/** Reads what expressions follow. Throws `needsFetch` where the store answers later: the row is then worked out again. */
export interface ObjectReader {
  object(oid: Oid): ObjectView
  /** That of the OID whose bytes these are; undefined for the reference to nothing. */
  objectAt(bytes: Bytes, at: number): ObjectView | undefined
  /**
   * The same where the store answers later, without waiting: `asked` where the object is fetched with what others ask for; `askedBefore` where
   * somebody is known to have asked for it since the last trip.
   */
  ask(bytes: Bytes, at: number): ObjectView | undefined | 'asked' | 'askedBefore'
  /** Says before going through them that all of these objects will be asked for, so that none is waited for alone. */
  prefetch(oids: readonly unknown[]): void
  /** Elements of a list or set, or pairs of a map, that are kept as link entries. */
  links(view: ObjectView, attribute: BoundAttribute): readonly unknown[]
  /** Of a list or set, no more of them than are wanted: the others are not read. */
  endLinks(view: ObjectView, attribute: BoundAttribute, end: LinkEnd): readonly unknown[]
  /** How many there are, or at least `max` where there are as many: none is held. */
  linkCount(view: ObjectView, attribute: BoundAttribute, max?: number): number
  /** All of them as they are stored; `index`: position of the attribute in the object's class. */
  linkEntries(view: ObjectView, index: number): readonly Entry[]
}
