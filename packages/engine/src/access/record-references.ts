/** References within a record: the objects they refer to, and a copy of the record without some of them. */
import type { ClassFormat, FormatSource } from '../records/class-format.ts'
import { decodeRecord, encodeRecord, recordHeaderBytes, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Bytes } from '../store/store.ts'
import { commitIdBytes } from '../transaction/store-session.ts'
import { noOid, type Oid, oidFromBytes, oidLength } from '../types/oid.ts'
import type { TypeSpec } from '../types/type-spec.ts'
import type { ClassAccess } from './class-access.ts'
import { mayHide } from './hidden-within.ts'
import { type IsVisible, isReferenceVisible, targetsIn, visibleOf } from './value-references.ts'

/** An attribute with references in collections or embedded objects. */
interface NestedReferences {
  readonly index: number
  readonly spec: TypeSpec
}

/** The attributes of a class that may refer to hidden objects, among those visible to the caller. */
export class RecordReferences {
  private readonly format: ClassFormat
  private readonly formats: FormatSource
  /** Indexes of single references, and attributes with nested ones. */
  private readonly single: readonly number[]
  private readonly nested: readonly NestedReferences[]

  constructor(format: ClassFormat, access: ClassAccess) {
    this.format = format
    this.formats = recordFormats(access.catalog)
    const visible = access.attributesOf(format.cls)
    const hideable = format.attributes.filter(({ attribute, linkStorage }) => {
      return (
        linkStorage === undefined && visible.has(attribute.number) && mayHide(attribute.spec, access, ['reference'])
      )
    })
    const isSingle = ({ attribute }: (typeof hideable)[number]): boolean => attribute.spec.logicalType === 'reference'
    this.single = hideable.filter(isSingle).map(({ index }) => index)
    this.nested = hideable
      .filter((attribute) => !isSingle(attribute))
      .map(({ index, attribute }) => ({ index, spec: attribute.spec }))
  }

  /** No record of the class refers to objects that may be hidden. */
  get areNone(): boolean {
    return this.single.length === 0 && this.nested.length === 0
  }

  /** Collects the objects that the record refers to and that may be hidden. */
  targets(record: Bytes, into: Map<Oid, undefined | Bytes>): void {
    const shape = shapeNumberOf(record)
    for (const index of this.single) {
      const at = this.format.locateReference(record, recordHeaderBytes, shape, index)
      const oid = at < 0 ? this.format.readValue(record, recordHeaderBytes, shape, index) : oidFromBytes(record, at)
      if (oid !== null && oid !== noOid) into.set(oid as Oid, undefined)
    }
    for (const { index, spec } of this.nested) {
      targetsIn(spec, this.format.readValue(record, recordHeaderBytes, shape, index), this.formats, into)
    }
  }

  /** A copy of the record in which references to invisible objects are null, and elements that are such references are removed. */
  without(record: Bytes, isVisible: IsVisible): Bytes {
    const shape = shapeNumberOf(record)
    const changed = Buffer.from(record)
    let mustRewrite = false
    for (const index of this.single) {
      const at = this.format.locateReference(record, recordHeaderBytes, shape, index)
      if (at >= 0) {
        if (isNonNull(record, at) && !isVisible(oidFromBytes(record, at))) changed.fill(0, at, at + oidLength)
        continue
      }
      const oid = this.format.readValue(record, recordHeaderBytes, shape, index)
      if (oid !== null && oid !== noOid && !isVisible(oid as Oid)) mustRewrite = true
    }
    for (const { index, spec } of this.nested) {
      const value = this.format.readValue(record, recordHeaderBytes, shape, index)
      if (visibleOf(spec, value, this.formats, isVisible) !== value) mustRewrite = true
    }
    return mustRewrite ? this.rewritten(record, isVisible) : changed
  }

  /** In the current shape, with the same revision. */
  private rewritten(record: Bytes, isVisible: IsVisible): Bytes {
    const content = decodeRecord(this.format, record)
    const { values } = content
    for (const index of this.single) if (!isReferenceVisible(values[index], isVisible)) values[index] = noOid
    for (const { index, spec } of this.nested) values[index] = visibleOf(spec, values[index], this.formats, isVisible)
    const revision = Buffer.from(record.subarray(recordHeaderBytes - commitIdBytes, recordHeaderBytes))
    return encodeRecord(this.format, revision, content)
  }
}

function isNonNull(bytes: Bytes, at: number): boolean {
  for (let i = at; i < at + oidLength; i++) if (bytes[i] !== 0) return true
  return false
}
