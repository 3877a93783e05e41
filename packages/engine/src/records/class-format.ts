/** How objects of one class are read and written under one catalog, whatever shape their bytes have. */

import { JsonWriter } from '../bytes/json-writer.ts'
import { assert } from '../errors.ts'
import type { Catalog, ClassAttribute, SchemaClass } from '../schema/catalog.ts'
import type { Shape } from '../schema/class-definition.ts'
import type { Bytes } from '../store/store.ts'
import { codecFor } from '../types/index.ts'
import type { Codec, CodecContext } from '../types/logical-type.ts'
import type { AttributeNumber, ClassNumber, ShapeNumber, TypeSpec } from '../types/type-spec.ts'
import { type LinkForm, linkFormOf } from './attribute-place.ts'
import { RecordLayout, type Slice } from './record-layout.ts'
import type { RecordValues } from './record-values.ts'
import { encodeValue } from './same-value.ts'

/** Where formats find those of other classes, and earlier shapes. */
export interface FormatSource extends CodecContext {
  readonly catalog: Catalog
  byNumber(classNumber: ClassNumber): ClassFormat
}

export interface AttributeFormat {
  readonly attribute: ClassAttribute
  readonly codec: Codec
  /** The format of the embedded class, for attributes that hold an embedded object. */
  readonly embedded: ClassFormat | undefined
  /** Set where the values are link entries, not part of the record. */
  readonly linkForm: LinkForm | undefined
  readonly index: number
  /** `,"name":` as it stands in replies. */
  readonly jsonName: Buffer
  /** The JSON of the default, for objects written before the attribute was added. */
  readonly defaultJson: Buffer
}

/** How one stored shape shows under the class as it is now. */
interface ShapeView {
  readonly layout: RecordLayout
  /** For each attribute of the class, its index in the stored shape; -1 where the shape does not have it. */
  readonly sources: readonly number[]
}

/** Reads are synchronous and never nested within one value, so one slice serves them all. */
const slice: Slice = { start: 0, end: 0 }

export class ClassFormat {
  readonly cls: SchemaClass
  readonly attributes: readonly AttributeFormat[]
  readonly layout: RecordLayout
  /** The link attributes, in schema order: what a reply needs beside the record. */
  readonly linkAttributes: readonly AttributeFormat[]
  private readonly formats: FormatSource
  private readonly views = new Map<ShapeNumber, ShapeView>()
  private readonly byNumber = new Map<AttributeNumber, AttributeFormat>()

  constructor(cls: SchemaClass, formats: FormatSource) {
    this.cls = cls
    this.formats = formats
    this.attributes = cls.attributes.map((attribute, index) => formatAttribute(attribute, index, cls, formats))
    for (const attribute of this.attributes) this.byNumber.set(attribute.attribute.number, attribute)
    this.linkAttributes = this.attributes.filter((attribute) => attribute.linkForm !== undefined)
    const view = this.makeView(cls.shape)
    this.views.set(cls.shape.number, view)
    this.layout = view.layout
  }

  attribute(number: AttributeNumber): AttributeFormat {
    const found = this.byNumber.get(number)
    assert(found !== undefined, `class ${this.cls.name} has attribute number ${number}`)
    return found
  }

  /** What an object has before any attribute is given. */
  defaultValues(): RecordValues {
    return {
      values: this.attributes.map(({ codec, linkForm }) => (linkForm === undefined ? codec.defaultValue : undefined)),
      positions: new Array(this.attributes.length),
    }
  }

  /** Values in the order of the class's attributes, defaults for those that the stored shape does not have. */
  readValues(bytes: Bytes, start: number, end: number, shapeNumber: ShapeNumber): RecordValues {
    const view = this.view(shapeNumber)
    const result = this.defaultValues()
    assert(end <= bytes.length, 'a body lies within its bytes')
    for (let i = 0; i < this.attributes.length; i++) {
      const source = view.sources[i] as number
      const { codec, linkForm } = this.attributes[i] as AttributeFormat
      if (source < 0 || linkForm !== undefined) continue
      view.layout.locate(bytes, start, source, slice)
      result.values[i] = slice.start < 0 ? null : codec.read(bytes, slice.start, slice.end)
      result.positions[i] = view.layout.positionOf(bytes, start, source)
    }
    return result
  }

  /** The value of one attribute, without reading the others. */
  readValue(bytes: Bytes, start: number, shapeNumber: ShapeNumber, index: number): unknown {
    const view = this.view(shapeNumber)
    const source = view.sources[index] as number
    const { codec } = this.attributes[index] as AttributeFormat
    if (source < 0) return codec.defaultValue
    view.layout.locate(bytes, start, source, slice)
    return slice.start < 0 ? null : codec.read(bytes, slice.start, slice.end)
  }

  /**
   * Writes `,"name":value` for each attribute; `writeLinks` writes the value of an attribute that is kept as links.
   * The caller opens the object, and takes care of the first comma.
   */
  writeAttributesJson(
    json: JsonWriter,
    bytes: Bytes,
    start: number,
    shapeNumber: ShapeNumber,
    writeLinks: (attribute: AttributeFormat) => void,
  ): void {
    const view = this.view(shapeNumber)
    for (let i = 0; i < this.attributes.length; i++) {
      const attribute = this.attributes[i] as AttributeFormat
      json.raw(attribute.jsonName)
      if (attribute.linkForm !== undefined) {
        writeLinks(attribute)
        continue
      }
      const source = view.sources[i] as number
      if (source < 0) {
        json.raw(attribute.defaultJson)
        continue
      }
      view.layout.locate(bytes, start, source, slice)
      if (slice.start < 0) json.ascii('null')
      else attribute.codec.writeJson(bytes, slice.start, slice.end, json)
    }
  }

  private view(shapeNumber: ShapeNumber): ShapeView {
    const known = this.views.get(shapeNumber)
    if (known !== undefined) return known
    const shape = this.formats.catalog.shape(shapeNumber)
    assert(shape !== undefined, `the catalog has shape ${shapeNumber}`)
    const view = this.makeView(shape)
    this.views.set(shapeNumber, view)
    return view
  }

  private makeView(shape: Shape): ShapeView {
    const sources = this.attributes.map(({ attribute }) => {
      return shape.attributes.findIndex((stored) => stored.number === attribute.number)
    })
    const fields = shape.attributes.map(({ spec }) => {
      if (this.cls.isReferenceable && linkFormOf(spec) !== undefined) return undefined
      return { codec: codecFor(spec, this.formats), hasPosition: hasPosition(spec) }
    })
    return { layout: new RecordLayout(fields), sources }
  }
}

/** Every to-one side of a bidirectional link has room for its place in the partner's list. */
function hasPosition(spec: TypeSpec): boolean {
  return spec.logicalType === 'reference' && spec.inverseAttribute !== null
}

function formatAttribute(
  attribute: ClassAttribute,
  index: number,
  cls: SchemaClass,
  formats: FormatSource,
): AttributeFormat {
  const codec = codecFor(attribute.spec, formats)
  return {
    attribute,
    codec,
    embedded: attribute.spec.logicalType === 'object' ? formats.byNumber(attribute.spec.class) : undefined,
    linkForm: cls.isReferenceable ? linkFormOf(attribute.spec) : undefined,
    index,
    jsonName: Buffer.from(`,${JSON.stringify(attribute.outputName)}:`),
    defaultJson: defaultJsonOf(codec),
  }
}

function defaultJsonOf(codec: Codec): Buffer {
  if (codec.defaultValue === null) return Buffer.from('null')
  const bytes = encodeValue(codec, codec.defaultValue)
  const json = new JsonWriter()
  codec.writeJson(bytes, 0, bytes.length, json)
  return json.to.copy()
}
