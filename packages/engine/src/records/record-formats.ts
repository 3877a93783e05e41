/** The formats of all classes under one catalog, created on demand. */
import { assert } from '../errors.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import { ReadSkew } from '../store/read-skew.ts'
import type { Codec } from '../types/logical-type.ts'
import type { ClassNumber, ShapeNumber } from '../types/type-spec.ts'
import { ClassFormat, type FormatSource, unknownShape } from './class-format.ts'
import { embeddedCodec } from './embedded-codec.ts'

export class RecordFormats implements FormatSource {
  readonly catalog: Catalog
  private readonly formats = new Map<ClassNumber, ClassFormat>()
  private readonly shapes = new Map<ShapeNumber, ClassFormat>()

  private lastShape: ShapeNumber | undefined
  private lastFormat: ClassFormat | undefined

  constructor(catalog: Catalog) {
    this.catalog = catalog
  }

  of(cls: SchemaClass): ClassFormat {
    let format = this.formats.get(cls.number)
    if (format === undefined) {
      format = new ClassFormat(cls, this)
      this.formats.set(cls.number, format)
    }
    return format
  }

  byNumber(classNumber: ClassNumber): ClassFormat {
    const cls = this.catalog.classByNumber(classNumber)
    assert(cls !== undefined, `the catalog has class ${classNumber}`)
    return this.of(cls)
  }

  /** The format of the class that has the shape. Throws ReadSkew if the catalog has no such class. */
  forShape(shapeNumber: ShapeNumber): ClassFormat {
    // Consecutively read objects mostly have the same shape.
    if (this.lastFormat !== undefined && this.lastShape === shapeNumber) return this.lastFormat
    let format = this.shapes.get(shapeNumber)
    if (format === undefined) {
      const shape = this.catalog.shape(shapeNumber)
      if (shape === undefined) throw unknownShape(shapeNumber)
      const cls = this.catalog.classByNumber(shape.classNumber)
      if (cls === undefined) throw new ReadSkew(`there is an object of class ${shape.classNumber}, which is deleted`)
      format = this.of(cls)
      this.shapes.set(shapeNumber, format)
    }
    this.lastShape = shapeNumber
    this.lastFormat = format
    return format
  }

  embedded(classNumber: ClassNumber): Codec {
    return embeddedCodec(this.byNumber(classNumber))
  }
}

const formatsOfCatalogs = new WeakMap<Catalog, RecordFormats>()

export function recordFormats(catalog: Catalog): RecordFormats {
  let formats = formatsOfCatalogs.get(catalog)
  if (formats === undefined) {
    formats = new RecordFormats(catalog)
    formatsOfCatalogs.set(catalog, formats)
  }
  return formats
}
