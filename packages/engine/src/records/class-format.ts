/** Reads and writes objects of one class under one catalog, whatever the shape of their bytes. */
import type { JsonWriter } from '../bytes/json-writer.ts'
import { EncodedText } from '../bytes/prepared-text.ts'
import { assert, unreachable } from '../errors.ts'
import type { Catalog, ClassAttribute, SchemaClass } from '../schema/catalog.ts'
import type { Shape, ShapeAttribute } from '../schema/class-definition.ts'
import { attributesOfChecks, hasChecks } from '../schema/expression-uses.ts'
import { ReadSkew } from '../store/read-skew.ts'
import type { Bytes } from '../store/store.ts'
import { conversionFor } from '../types/conversion.ts'
import { codecFor } from '../types/index.ts'
import { type LinkStorage, linkStorageOf } from '../types/link-storage.ts'
import type { Codec, CodecContext, StepwiseWork } from '../types/logical-type.ts'
import type { AttributeNumber, ClassNumber, ShapeNumber, TypeSpec } from '../types/type-spec.ts'
import { embeddedClassOf, hasPosition, inverseIn } from './attribute-type.ts'
import { isComputed, isFollowing, isUnstored } from './computed.ts'
import { creationValue, drawsNumbers, unevaluated, valueOfJson } from './creation-value.ts'
import { RecordLayout, type Slice } from './record-layout.ts'
import type { DeferRead, RecordValues } from './record-values.ts'
import { obsoleteIn, placesIn, typesSince } from './shape-history.ts'
import { converted, type StoredReader, storedReader } from './stored-reader.ts'
import { layoutCodec } from './unread-codec.ts'
import { jsonOf, writeValueJson } from './value-json.ts'

/** Gives access to the formats of other classes and to earlier shapes. */
export interface FormatSource extends CodecContext {
  readonly catalog: Catalog
  byNumber(classNumber: ClassNumber): ClassFormat
}

/** Computes the value of an attribute from the values of the attributes that it depends on. */
export interface ComputedValue {
  /** If false, the value is evaluated on every read. */
  readonly isStored: boolean
  /**
   * Returns a value in memory, null if it cannot be evaluated. `object`: the values of an embedded object, or a function that returns
   * the value of the attribute at an index.
   */
  valueOf(object: readonly unknown[] | ((index: number) => unknown)): unknown
}

let compileComputed: (attribute: AttributeFormat, catalog: Catalog) => ComputedValue = () => {
  return unreachable('whoever opens a database provides what computed attributes are compiled with')
}

/** Breaks a dependency cycle: expressions are compiled in a layer above this module. */
export function provideComputedValues(compile: typeof compileComputed): void {
  compileComputed = compile
}

export interface AttributeFormat {
  readonly attribute: ClassAttribute
  readonly codec: Codec
  /** The format of the embedded class, for attributes that hold an embedded object. */
  readonly embedded: ClassFormat | undefined
  /** The same for attributes that hold a list of embedded objects. */
  readonly elements: ClassFormat | undefined
  /** Set if the values are stored as link entries, outside the record. */
  readonly linkStorage: LinkStorage | undefined
  /** A check of the class counts the links. */
  readonly isCounted: boolean
  readonly index: number
  /** `,"name":` as in replies. */
  readonly jsonName: EncodedText
  /** Set while the attribute's type changes. */
  readonly pendingType: PendingTypeFormat | undefined
}

/** The new type of an attribute and the conversion of its present values. */
export interface PendingTypeFormat {
  readonly format: AttributeFormat
  readonly convert: (value: unknown) => unknown
  /** The values that a conversion would lose: the value itself, or elements of a list. */
  readonly lossyValues: (value: unknown) => readonly unknown[]
  /** False once writers no longer store values that the conversion would lose. */
  readonly isLossAllowed: boolean
}

/** Decodes a stored shape into the present class. */
interface ShapeDecoder {
  readonly shapeNumber: ShapeNumber
  readonly layout: RecordLayout
  /** For each attribute of the class, its index in the stored shape; -1 if the shape does not have it. */
  readonly sources: readonly number[]
  /** Like `sources`, for positions in lists of partners: also -1 if the attribute had another inverse or none. */
  readonly positionSources: readonly number[]
  /** For each attribute that had another type: reads the stored value and converts it. */
  readonly readers: readonly (StoredReader | undefined)[]
  /** For each attribute that the shape does not have: the default with which it was added, converted to the present type. */
  readonly absent: readonly AbsentValue[]
}

/** JSON by attribute number; see `schema/initial-values.ts`. */
type InitialValues = Readonly<Record<AttributeNumber, unknown>>

interface AbsentValue {
  readonly value: unknown
  readonly json: Buffer
}

/** Shared by all reads, since they are synchronous and not nested within a value. */
const slice: Slice = { start: 0, end: 0 }

export class ClassFormat {
  readonly cls: SchemaClass
  readonly attributes: readonly AttributeFormat[]
  readonly layout: RecordLayout
  /** Link attributes in schema order, which replies need in addition to the record. */
  readonly linkAttributes: readonly AttributeFormat[]
  /** To-one sides of bidirectional links: references that are stored in the record and have an inverse. */
  readonly linkedReferences: readonly AttributeFormat[]
  /** Attributes whose type is changing, or that embed objects with such an attribute. */
  readonly changingAttributes: readonly AttributeFormat[]
  readonly hasPendingType: boolean
  /** The class has checks, or attributes of it or of embedded classes have properties, which may be constraints. */
  readonly hasProperties: boolean
  /** Collections stored as links that require elements, which a new object may lack. */
  readonly neededLinks: readonly AttributeFormat[]
  readonly computedAttributes: readonly AttributeFormat[]
  /** Computed attributes whose values are kept with the objects. */
  private readonly storedComputed: readonly AttributeFormat[]
  /** Attributes whose embedded objects have values given by expressions. */
  readonly evaluatedWithin: readonly AttributeFormat[]
  /** By index, while a computed attribute of one object is evaluated. */
  private cached: Map<number, unknown> | undefined
  /** By index, if the class has computed attributes; otherwise undefined. */
  private readonly computed: (ComputedValue | null)[] | undefined
  readonly isChecked: boolean
  /** The default of an attribute, or of one of an embedded object, draws numbers from sequences. */
  readonly drawsNumbers: boolean
  /** An attribute, or an embedded attribute, has type json. */
  readonly holdsJson: boolean
  /** An attribute, or an embedded attribute, may hold references. */
  readonly holdsReferences: boolean
  private readonly formats: FormatSource
  private readonly views = new Map<ShapeNumber, ShapeDecoder>()
  /** The most recently used decoder. */
  private last: ShapeDecoder | undefined
  private defaults: readonly unknown[] | undefined
  /** The index of each value in the shape; undefined if the class has the attributes of its shape in order. */
  private readonly places: readonly number[] | undefined
  /** Whether objects have positions in lists of their partners. */
  private readonly hasPositions: boolean
  private readonly byNumber = new Map<AttributeNumber, AttributeFormat>()
  /** Cache of the names that commands have used. */
  private readonly byName = new Map<string, AttributeFormat>()

  constructor(cls: SchemaClass, formats: FormatSource) {
    this.cls = cls
    this.formats = formats
    const checked = attributesOfChecks(cls, formats.catalog)
    this.attributes = cls.attributes.map((attribute, index) => {
      return formatAttribute(attribute, index, cls, formats, checked.has(attribute.number))
    })
    for (const attribute of this.attributes) this.byNumber.set(attribute.attribute.number, attribute)
    this.linkAttributes = this.attributes.filter((attribute) => attribute.linkStorage !== undefined)
    this.linkedReferences = this.attributes.filter(({ attribute: { spec } }) => hasPosition(spec))
    this.changingAttributes = this.attributes.filter(({ attribute, pendingType }) => {
      const embedded = embeddedClassOf(attribute.spec)
      return pendingType !== undefined || (embedded !== undefined && formats.byNumber(embedded).hasPendingType)
    })
    this.holdsJson = cls.attributes.some(({ spec }) => holdsJson(spec, formats))
    this.holdsReferences = cls.attributes.some(({ spec }) => holdsReferences(spec, formats))
    this.hasPendingType = this.changingAttributes.length > 0
    this.computedAttributes = this.attributes.filter(
      ({ attribute: { properties } }) => properties?.own.computed !== undefined,
    )
    this.storedComputed = this.computedAttributes.filter(({ attribute }) => !isUnstored(attribute))
    this.evaluatedWithin = this.attributes.filter((one) => embeddedIn(one)?.isEvaluated)
    if (this.computedAttributes.length > 0) this.computed = new Array(this.attributes.length)
    const isWithChecks = hasChecks(cls)
    this.hasProperties =
      isWithChecks ||
      this.attributes.some(({ attribute: { spec, properties, becoming } }) => {
        const embedded = embeddedClassOf(spec)
        const isConstrained = properties !== undefined || becoming?.properties !== undefined
        return isConstrained || (embedded !== undefined && formats.byNumber(embedded).hasProperties)
      })
    this.neededLinks = this.linkAttributes.filter(({ attribute }) => attribute.properties?.own.minItems !== undefined)
    this.isChecked = this.hasPendingType || this.hasProperties
    this.drawsNumbers = this.attributes.some((one) => drawsNumbers(one) || embeddedIn(one)?.drawsNumbers)
    this.hasPositions = this.attributes.some(({ attribute }) => hasPosition(attribute.spec))
    const view = this.makeView(cls.shape)
    this.views.set(cls.shape.number, view)
    this.layout = view.layout
    const inShape = placesIn(cls.shape)
    const places = cls.attributes.map(({ number }) => inShape.get(number) ?? -1)
    const isShape = cls.shape.attributes.length === places.length && places.every((place, i) => place === i)
    this.places = isShape ? undefined : places
  }

  holdsJsonIn({ attribute: { spec } }: AttributeFormat): boolean {
    return holdsJson(spec, this.formats)
  }

  attribute(number: AttributeNumber): AttributeFormat {
    const found = this.byNumber.get(number)
    assert(found !== undefined, `class ${this.cls.name} has attribute number ${number}`)
    return found
  }

  /** `name`: as spelled in a command. Returns undefined if there is no such attribute. Throws AmbiguousAttribute. */
  attributeNamed(name: string): AttributeFormat | undefined {
    const cached = this.byName.get(name)
    if (cached !== undefined) return cached
    const found = this.cls.findAttribute(name)
    if (found === undefined) return undefined
    const attribute = this.attribute(found.number)
    // Bounded by the number of ways to spell attributes.
    this.byName.set(name, attribute)
    return attribute
  }

  /** For an attribute through which another object is linked: undefined if the class does not have it. */
  find(number: AttributeNumber): AttributeFormat | undefined {
    return this.byNumber.get(number)
  }

  /** Orders the values as `layout` expects. A class as seen by a restricted caller lacks attributes of its shape, which are null then. */
  inShapeOrder(values: readonly unknown[]): readonly unknown[] {
    const { places } = this
    if (places === undefined) return values
    const placed: unknown[] = new Array(this.cls.shape.attributes.length).fill(null)
    for (const [i, place] of places.entries()) if (place >= 0) placed[place] = values[i]
    return placed
  }

  /** The values of an object before any attribute is given. */
  defaultValues(): RecordValues {
    this.defaults ??= this.attributes.map((one) => (one.linkStorage === undefined ? creationValue(one) : undefined))
    return {
      values: this.defaults.slice(),
      positions: this.hasPositions ? new Array(this.attributes.length) : noPositions,
    }
  }

  /** Whether expressions give values of its objects. */
  get isEvaluated(): boolean {
    const { attributes, computedAttributes, evaluatedWithin } = this
    const isOwn = computedAttributes.length > 0 || attributes.some((one) => creationValue(one) === unevaluated)
    return isOwn || evaluatedWithin.length > 0
  }

  /**
   * Values in the order of the class's attributes, with defaults for attributes that the stored shape does not have. Of embedded objects, which are
   * read as a whole, attributes that are computed on each read are left unevaluated.
   */
  readValues(bytes: Bytes, start: number, end: number, shapeNumber: ShapeNumber, defer?: DeferRead): RecordValues {
    const view = this.view(shapeNumber)
    const result = this.defaultValues()
    assert(end <= bytes.length, 'a body lies within its bytes')
    for (let i = 0; i < this.attributes.length; i++) {
      const source = view.sources[i] as number
      const { codec, linkStorage } = this.attributes[i] as AttributeFormat
      if (linkStorage !== undefined) continue
      if (source < 0) {
        result.values[i] = this.isReadLate(i) ? unevaluated : this.unstored(view, i, bytes, start)
        continue
      }
      view.layout.locate(bytes, start, source, slice)
      if (slice.start < 0) result.values[i] = null
      else if (defer === undefined || codec.readStepwise === undefined || view.readers[i] !== undefined) {
        result.values[i] = (view.readers[i] ?? codec.read)(bytes, slice.start, slice.end)
      } else defer(i, codec, slice.start, slice.end)
      if (this.hasPositions) {
        result.positions[i] = view.layout.positionOf(bytes, start, view.positionSources[i] as number)
      }
    }
    if (this.cls.isReferenceable || defer !== undefined) return result
    const values = this.withStoredValues(result.values)
    return values === result.values ? result : { ...result, values: [...values] }
  }

  /** Whether the attribute is evaluated when an object is read as a whole, or only by name. */
  private isReadLate(index: number): boolean {
    const attribute = this.attributes[index] as AttributeFormat
    return isFollowing(attribute.attribute) || (!this.cls.isReferenceable && isComputed(attribute.attribute))
  }

  /** The values of an embedded object, including stored computed attributes. */
  withStoredValues(values: readonly unknown[]): readonly unknown[] {
    if (this.storedComputed.length === 0) return values
    const missing = this.storedComputed.filter(({ index }) => values[index] === unevaluated)
    return missing.reduce((cached, { index }) => cached.with(index, this.valueIn(cached, index)), values)
  }

  readValue(bytes: Bytes, start: number, shapeNumber: ShapeNumber, index: number): unknown {
    const view = this.view(shapeNumber)
    const source = view.sources[index] as number
    const { codec } = this.attributes[index] as AttributeFormat
    if (source < 0) return this.unstored(view, index, bytes, start)
    view.layout.locate(bytes, start, source, slice)
    return slice.start < 0 ? null : (view.readers[index] ?? codec.read)(bytes, slice.start, slice.end)
  }

  /** The position of an attribute's value as encoded by its codec, valid until the next call; undefined if there is none. */
  stored(bytes: Bytes, start: number, shapeNumber: ShapeNumber, index: number): Readonly<Slice> | undefined {
    const view = this.view(shapeNumber)
    const source = view.sources[index] as number
    if (source < 0 || view.readers[index] !== undefined) return undefined
    view.layout.locate(bytes, start, source, slice)
    return slice.start < 0 ? undefined : slice
  }

  /** The offset of the eight bytes of a reference; -1 if it is null, was of another type, or the shape lacks it. */
  locateReference(bytes: Bytes, start: number, shapeNumber: ShapeNumber, index: number): number {
    const view = this.view(shapeNumber)
    const source = view.sources[index] as number
    if (source < 0 || view.readers[index] !== undefined) return -1
    view.layout.locate(bytes, start, source, slice)
    return slice.start
  }

  /** Writes the value of one attribute that is not stored as links. */
  writeValueJson(json: JsonWriter, bytes: Bytes, start: number, shapeNumber: ShapeNumber, index: number): void {
    this.writeValueAt(this.view(shapeNumber), index, bytes, start, json)
  }

  /**
   * Writes `,"name":value` for each attribute; `writeLinks` writes the values of attributes stored as links. The caller opens
   * the object and handles the first comma. `from`, `to`: indexes of the attributes.
   */
  writeAttributesJson(
    json: JsonWriter,
    bytes: Bytes,
    start: number,
    shapeNumber: ShapeNumber,
    writeLinks: (attribute: AttributeFormat) => void,
    from = 0,
    to = this.attributes.length,
  ): void {
    const view = this.view(shapeNumber)
    let values: readonly unknown[] | undefined
    for (let i = from; i < to; i++) {
      const attribute = this.attributes[i] as AttributeFormat
      if (isFollowing(attribute.attribute)) continue
      json.prepared(attribute.jsonName)
      if (attribute.linkStorage !== undefined) writeLinks(attribute)
      else if ((view.sources[i] as number) < 0 && this.isReadLate(i)) {
        values ??= this.readValues(bytes, start, bytes.length, shapeNumber).values
        writeValueJson(attribute.codec, this.valueAt(values, i), json)
      } else this.writeValueAt(view, i, bytes, start, json)
    }
  }

  /** Like `writeAttributesJson`, with yields within long values. */
  *writeAttributesStepwise(
    json: JsonWriter,
    bytes: Bytes,
    start: number,
    shapeNumber: ShapeNumber,
    writeLinks: (attribute: AttributeFormat) => void,
  ): StepwiseWork<void> {
    let from = 0
    for (const { index, codec, jsonName, linkStorage } of this.attributes) {
      if (linkStorage !== undefined || codec.writeJsonStepwise === undefined) continue
      const found = this.stored(bytes, start, shapeNumber, index)
      if (found === undefined) continue
      const { start: valueStart, end } = found
      this.writeAttributesJson(json, bytes, start, shapeNumber, writeLinks, from, index)
      json.prepared(jsonName)
      yield* codec.writeJsonStepwise(bytes, valueStart, end, json)
      from = index + 1
    }
    this.writeAttributesJson(json, bytes, start, shapeNumber, writeLinks, from)
  }

  private writeValueAt(view: ShapeDecoder, index: number, bytes: Bytes, start: number, json: JsonWriter): void {
    const source = view.sources[index] as number
    if (source < 0) {
      if (this.computedAt(index) === undefined) json.raw((view.absent[index] as AbsentValue).json)
      else {
        const { codec } = this.attributes[index] as AttributeFormat
        writeValueJson(codec, this.unstored(view, index, bytes, start), json)
      }
      return
    }
    view.layout.locate(bytes, start, source, slice)
    const { codec } = this.attributes[index] as AttributeFormat
    const reader = view.readers[index]
    if (slice.start < 0) json.ascii('null')
    else if (reader === undefined) codec.writeJson(bytes, slice.start, slice.end, json)
    else writeValueJson(codec, reader(bytes, slice.start, slice.end), json)
  }

  /** The computation of an attribute; undefined if it is not computed. */
  computedAt(index: number): ComputedValue | undefined {
    if (this.computed === undefined) return undefined
    let value = this.computed[index]
    if (value === undefined) {
      const attribute = this.attributes[index] as AttributeFormat
      value = isComputed(attribute.attribute) ? compileComputed(attribute, this.formats.catalog) : null
      this.computed[index] = value
    }
    return value ?? undefined
  }

  /** The value at an index of the class, evaluated if it is computed. */
  valueIn(values: readonly unknown[], index: number): unknown {
    const computed = this.computedAt(index)
    if (computed === undefined) return values[index] ?? null
    const object = this.cls.isReferenceable ? (other: number) => this.valueIn(values, other) : values
    return this.evaluatedOnce(index, () => computed.valueOf(object))
  }

  /** Evaluates each attribute that the computed attribute of an object depends on only once, however often it is named. */
  private evaluatedOnce(index: number, evaluate: () => unknown): unknown {
    const { cached } = this
    if (cached?.has(index) === true) return cached.get(index)
    this.cached ??= new Map()
    try {
      const value = evaluate()
      this.cached.set(index, value)
      return value
    } finally {
      if (cached === undefined) this.cached = undefined
    }
  }

  /** The value at an index of an embedded object. */
  valueAt(values: readonly unknown[], index: number): unknown {
    const value = values[index]
    return value === unevaluated ? this.valueIn(values, index) : value
  }

  /** The value of an attribute that the record does not contain: its default, or its computed value. */
  private unstored(view: ShapeDecoder, index: number, bytes: Bytes, start: number): unknown {
    const computed = this.computedAt(index)
    if (computed === undefined) return view.absent[index]?.value
    if (!this.cls.isReferenceable) {
      return this.valueAt(this.readValues(bytes, start, bytes.length, view.shapeNumber).values, index)
    }
    const read = (other: number): unknown => this.readValue(bytes, start, view.shapeNumber, other)
    return this.evaluatedOnce(index, () => computed.valueOf(read))
  }

  private view(shapeNumber: ShapeNumber): ShapeDecoder {
    // Consecutively read objects mostly have the same shape.
    const { last } = this
    if (last?.shapeNumber === shapeNumber) return last
    const view = this.views.get(shapeNumber) ?? this.newView(shapeNumber)
    this.last = view
    return view
  }

  private newView(shapeNumber: ShapeNumber): ShapeDecoder {
    const shape = this.formats.catalog.shape(shapeNumber)
    if (shape === undefined) throw unknownShape(shapeNumber)
    const view = this.makeView(shape)
    this.views.set(shapeNumber, view)
    return view
  }

  private makeView(shape: Shape): ShapeDecoder {
    const places = placesIn(shape)
    const obsolete = obsoleteIn(this.formats.catalog, shape)
    const sources = this.attributes.map(({ attribute }) => {
      return isUnstored(attribute) || obsolete.has(attribute.number) ? -1 : (places.get(attribute.number) ?? -1)
    })
    const positionSources = this.attributes.map(({ attribute }, i) => {
      const stored = shape.attributes[sources[i] as number]?.spec
      return inverseIn(stored) === inverseIn(attribute.spec) ? (sources[i] as number) : -1
    })
    // An unstored attribute has a place too, in which records have its default.
    const present = new Set(this.attributes.map(({ attribute }) => places.get(attribute.number)))
    const fields = shape.attributes.map(({ spec }, source) => {
      if (this.cls.isReferenceable && linkStorageOf(spec) !== undefined) return undefined
      // The class of objects embedded by an old attribute may be deleted.
      const codec = present.has(source) ? codecFor(spec, this.formats) : layoutCodec(spec, this.formats)
      return { codec, hasPosition: hasPosition(spec) }
    })
    const readers = this.attributes.map(({ attribute, linkStorage }, i) => {
      const source = sources[i] as number
      if (source < 0 || linkStorage !== undefined) return undefined
      return storedReader(typesSince(this.formats.catalog, shape, attribute.number), this.formats)
    })
    const absent = this.attributes.map(({ codec, linkStorage }, i): AbsentValue => {
      if (linkStorage !== undefined || (sources[i] as number) >= 0) return { value: undefined, json: nothing }
      const value = this.defaultSince(shape, i)
      return { value, json: jsonOf(codec, value) }
    })
    return { shapeNumber: shape.number, layout: new RecordLayout(fields), sources, positionSources, readers, absent }
  }

  /** The default for objects of that shape: of the type with which the attribute was added or stored, converted since. */
  private defaultSince(shape: Shape, index: number): unknown {
    const { attribute, codec } = this.attributes[index] as AttributeFormat
    const { catalog } = this.formats
    const { spec } = attribute
    if (spec.logicalType === 'object') {
      const first = catalog.shapesSince(shape).find((later) => placesIn(later).has(attribute.number))
      if (first === undefined) return codec.defaultValue
      const { initial } = first.attributes[placesIn(first).get(attribute.number) as number] as ShapeAttribute
      return this.formats.byNumber(spec.class).defaultsAsOf(first.number, initial as InitialValues | undefined)
    }
    const types = typesSince(this.formats.catalog, shape, attribute.number)
    return this.initialValue(codec, types, types[0]?.initial)
  }

  /** `json`: of the earliest of the types; undefined for its default. */
  private initialValue(codec: Codec, types: readonly ShapeAttribute[], json: unknown): unknown {
    const [earliest] = types
    if (earliest === undefined) return codec.defaultValue
    const first = types.length === 1 ? codec : codecFor(earliest.spec, this.formats)
    return converted(valueOfJson(first, json), types, this.formats)
  }

  /**
   * The defaults of the class at the time of that shape of another class, converted to the present types. `initials`: take
   * precedence over the defaults in the shape of this class at that time.
   */
  private defaultsAsOf(shapeNumber: ShapeNumber, initials: InitialValues = {}): readonly unknown[] {
    const { catalog } = this.formats
    const shape = catalog.shapesOf(this.cls.number).findLast(({ number }) => number <= shapeNumber) ?? this.cls.shape
    const values = this.attributes.map(({ attribute: { number, spec }, codec }, index) => {
      if (this.isReadLate(index)) return unevaluated
      const initial = initials[number]
      if (initial === undefined) return this.defaultSince(shape, index)
      if (spec.logicalType === 'object') {
        return this.formats.byNumber(spec.class).defaultsAsOf(shapeNumber, initial as InitialValues)
      }
      return this.initialValue(codec, typesSince(this.formats.catalog, shape, number), initial)
    })
    return this.withStoredValues(values)
  }
}

/** A record or embedded object has a shape that is missing from the catalog read with it. */
export function unknownShape(number: ShapeNumber): ReadSkew {
  return new ReadSkew(`there is an object of shape ${number}, which the catalog does not have`)
}

const nothing = Buffer.alloc(0)

/** The format of the objects embedded by the attribute, singly or in a list. */
export function embeddedIn({ embedded, elements }: AttributeFormat): ClassFormat | undefined {
  return embedded ?? elements
}

/** Shared by all objects without positions in lists. */
const noPositions = Object.freeze([]) as unknown as (Bytes | undefined)[]

function holdsJson(spec: TypeSpec, formats: FormatSource): boolean {
  if (spec.logicalType === 'list') return holdsJson(spec.element, formats)
  if (spec.logicalType === 'object') return formats.byNumber(spec.class).holdsJson
  return spec.logicalType === 'json'
}

function holdsReferences(spec: TypeSpec, formats: FormatSource): boolean {
  if (spec.logicalType === 'list' || spec.logicalType === 'set') return holdsReferences(spec.element, formats)
  if (spec.logicalType === 'object') return formats.byNumber(spec.class).holdsReferences
  return spec.logicalType === 'reference' || spec.logicalType === 'map'
}

function formatAttribute(
  attribute: ClassAttribute,
  index: number,
  cls: SchemaClass,
  formats: FormatSource,
  isChecked = false,
): AttributeFormat {
  const { spec } = attribute
  const codec = codecFor(spec, formats)
  const embeddedClass = embeddedClassOf(spec)
  const embedded = embeddedClass && formats.byNumber(embeddedClass)
  const linkStorage = cls.isReferenceable ? linkStorageOf(spec) : undefined
  return {
    attribute,
    codec,
    embedded: spec.logicalType === 'object' ? embedded : undefined,
    elements: spec.logicalType === 'list' ? embedded : undefined,
    linkStorage,
    isCounted: isChecked && linkStorage !== undefined,
    index,
    jsonName: new EncodedText(`,${JSON.stringify(attribute.outputName)}:`),
    pendingType: pendingTypeFormat(attribute, index, cls, formats),
  }
}

function pendingTypeFormat(
  attribute: ClassAttribute,
  index: number,
  cls: SchemaClass,
  formats: FormatSource,
): PendingTypeFormat | undefined {
  const { becoming, ...present } = attribute
  if (becoming === undefined || becoming.keepsType === true) return undefined
  const { spec, properties } = becoming
  const { properties: _, ...unconstrained } = present
  const future = properties === undefined ? { ...unconstrained, spec } : { ...unconstrained, spec, properties }
  const format = formatAttribute(future, index, cls, formats)
  const conversion = conversionFor(attribute.spec, spec, 'strict', creationValue(format))
  if (conversion === undefined) return undefined
  return {
    format,
    convert: conversion.convert,
    lossyValues: conversion.lossyValues,
    isLossAllowed: becoming.isLossAllowed,
  }
}
