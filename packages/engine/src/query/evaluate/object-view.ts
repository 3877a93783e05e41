/** An object as a query sees it: its record, read one attribute at a time. */
import type { ClassFormat } from '../../records/class-format.ts'
import { recordHeaderBytes, shapeNumberOf } from '../../records/record-format.ts'
import type { Bytes } from '../../store/store.ts'
import { type Oid, oidFromBytes } from '../../types/oid.ts'
import type { ShapeNumber } from '../../types/type-spec.ts'

export class ObjectView {
  /** Undefined where there is no such object: every attribute of it is null. */
  readonly format: ClassFormat | undefined
  readonly record: Bytes
  private readonly shape: ShapeNumber
  private text: Oid | undefined
  private readonly key: Bytes | undefined

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

  /** Of an attribute that is kept in the record. */
  value(index: number): unknown {
    return this.format === undefined ? null : this.format.readValue(this.record, recordHeaderBytes, this.shape, index)
  }

  /** A view that stays valid when the bytes that were lent for this one are not. */
  copy(): ObjectView {
    const key = this.key === undefined ? undefined : Buffer.from(this.key)
    return new ObjectView(this.text, key, this.format, Buffer.from(this.record))
  }
}
