/** How objects of one class are read and written under one catalog, whatever shape their bytes have. */
import { isDeepStrictEqual } from 'node:util'
import { JsonWriter } from '../bytes/json-writer.ts'
import { PreparedText } from '../bytes/prepared-text.ts'
import { assert, unreachable } from '../errors.ts'
import type { Catalog, ClassAttribute, SchemaClass } from '../schema/catalog.ts'
import type { Shape, ShapeAttribute } from '../schema/class-definition.ts'
import { isDefaultExpression, isExpression } from '../schema/expression.ts'
import { creationDefault } from '../schema/properties/index.ts'
import { ReadSkew } from '../store/read-skew.ts'
import type { Bytes } from '../store/store.ts'
import { type Conversion, conversionFor } from '../types/conversion.ts'
import { codecFor } from '../types/index.ts'
import { type LinkStorage, linkStorageOf } from '../types/link-storage.ts'
import type { Codec, CodecContext } from '../types/logical-type.ts'
import type { AttributeNumber, ClassNumber, ShapeNumber, TypeSpec } from '../types/type-spec.ts'
import { RecordLayout, type Slice } from './record-layout.ts'
import type { RecordValues } from './record-values.ts'
import { encodeValue } from './same-value.ts'

/** Where formats find those of other classes, and earlier shapes. */
export interface FormatSource extends CodecContext {
  readonly catalog: Catalog
  byNumber(classNumber: ClassNumber): ClassFormat
}

/** The value of a computed attribute, from those that it is made of. */
export interface ComputedValue {
  /** What is not kept with the object is evaluated whenever it is read. */
  readonly isStored: boolean
  /** In memory; null for what cannot be evaluated. `read`: the value of the attribute at an index. */
  valueOf(read: (index: number) => unknown): unknown
}

let compileComputed: (attribute: AttributeFormat, catalog: Catalog) => ComputedValue = () => {
  return unreachable('whoever opens a database provides what computed attributes are compiled with')
}

/** Expressions are compiled above this module. */
export function provideComputedValues(compile: typeof compileComputed): void {
  compileComputed = compile
}

export interface AttributeFormat {
  readonly attribute: ClassAttribute
  readonly codec: Codec
  /** The format of the embedded class, for attributes that hold an embedded object. */
  readonly embedded: ClassFormat | undefined
  /** Set where the values are link entries, not part of the record. */
  readonly linkStorage: LinkStorage | undefined
  readonly index: number
  /** `,"name":` as it stands in replies. */
  readonly jsonName: PreparedText
  /** Set while the attribute's type changes. */
  readonly pendingType: PendingTypeFormat | undefined
}

/** What an attribute is to be, and how its present values become that. */
export interface PendingTypeFormat {
  readonly format: AttributeFormat
  readonly convert: (value: unknown) => unknown
  /** What would be lost of a value: the value itself, or elements of the list that it is. */
  readonly lossyValues: (value: unknown) => readonly unknown[]
  /** False where writers store nothing any more of which something would be lost. */
  readonly isLossAllowed: boolean
}

/** How one stored shape shows under the class as it is now. */
interface ShapeDecoder {
  readonly shapeNumber: ShapeNumber
  readonly layout: RecordLayout
  /** For each attribute of the class, its index in the stored shape; -1 where the shape does not have it. */
  readonly sources: readonly number[]
  /** The same for places in lists of partners: -1 also where the attribute had another inverse then, or none. */
  readonly positionSources: readonly number[]
  /** For each attribute that had another type then: reads the value as it was stored, and as it is now. */
  readonly readers: readonly (StoredReader | undefined)[]
  /** For each attribute that the shape does not have: the default that it was added with, as it is now. */
  readonly absent: readonly AbsentValue[]
}

interface AbsentValue {
  readonly value: unknown
  readonly json: Buffer
}

type StoredReader = (bytes: Bytes, start: number, end: number) => unknown

/** Reads are synchronous and never nested within one value, so one slice serves them all. */
const slice: Slice = { start: 0, end: 0 }

export class ClassFormat {
  readonly cls: SchemaClass
  readonly attributes: readonly AttributeFormat[]
  readonly layout: RecordLayout
  /** The link attributes, in schema order: what a reply needs beside the record. */
  readonly linkAttributes: readonly AttributeFormat[]
  /** To-one sides of bidirectional links: references that are kept in the record, and have an inverse. */
  readonly linkedReferences: readonly AttributeFormat[]
  /** Those that are changing their type, or that embed objects of which an attribute is. */
  readonly changingAttributes: readonly AttributeFormat[]
  readonly hasPendingType: boolean
  /** The class has checks; or attributes of it, or of those that it embeds, have properties, which may be constraints. */
  readonly hasProperties: boolean
  /** Collections kept as links that have to have elements, which a new object may lack. */
  readonly neededLinks: readonly AttributeFormat[]
  readonly computedAttributes: readonly AttributeFormat[]
  /** By index, where attributes are computed; undefined where none is. */
  private readonly computed: (ComputedValue | null)[] | undefined
  /** What is written is checked before it is. */
  readonly isChecked: boolean
  /** Values of an attribute, or within one, are of type json. */
  readonly holdsJson: boolean
  private readonly formats: FormatSource
  private readonly views = new Map<ShapeNumber, ShapeDecoder>()
  /** The one that was used last. */
  private last: ShapeDecoder | undefined
  private defaults: readonly unknown[] | undefined
  /** Where values stand in the shape; undefined where the class has the attributes of its shape, in their order. */
  private readonly places: readonly number[] | undefined
  /** Whether objects have places in lists of their partners. */
  private readonly hasPositions: boolean
  private readonly byNumber = new Map<AttributeNumber, AttributeFormat>()
  /** By the names that commands have used. */
  private readonly byName = new Map<string, AttributeFormat>()

  constructor(cls: SchemaClass, formats: FormatSource) {
    this.cls = cls
    this.formats = formats
    this.attributes = cls.attributes.map((attribute, index) => formatAttribute(attribute, index, cls, formats))
    for (const attribute of this.attributes) this.byNumber.set(attribute.attribute.number, attribute)
    this.linkAttributes = this.attributes.filter((attribute) => attribute.linkStorage !== undefined)
    this.linkedReferences = this.attributes.filter(({ attribute: { spec } }) => hasPosition(spec))
    this.changingAttributes = this.attributes.filter(({ attribute, pendingType }) => {
      const embedded = embeddedClassOf(attribute.spec)
      return pendingType !== undefined || (embedded !== undefined && formats.byNumber(embedded).hasPendingType)
    })
    this.holdsJson = cls.attributes.some(({ spec }) => holdsJson(spec, formats))
    this.hasPendingType = this.changingAttributes.length > 0
    this.computedAttributes = this.attributes.filter(isComputed)
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
    this.hasPositions = this.attributes.some(({ attribute }) => hasPosition(attribute.spec))
    const view = this.makeView(cls.shape)
    this.views.set(cls.shape.number, view)
    this.layout = view.layout
    const isShape =
      cls.shape.attributes.length === view.sources.length && view.sources.every((source, i) => source === i)
    this.places = isShape ? undefined : view.sources
  }

  /** The class whose objects the attribute embeds, alone or in a list. */
  embeddedIn({ attribute: { spec } }: AttributeFormat): ClassFormat | undefined {
    const embedded = embeddedClassOf(spec)
    return embedded && this.formats.byNumber(embedded)
  }

  holdsJsonIn({ attribute: { spec } }: AttributeFormat): boolean {
    return holdsJson(spec, this.formats)
  }

  attribute(number: AttributeNumber): AttributeFormat {
    const found = this.byNumber.get(number)
    assert(found !== undefined, `class ${this.cls.name} has attribute number ${number}`)
    return found
  }

  /** As a command spells it; undefined where the class has none of that name. Throws AmbiguousAttribute. */
  attributeNamed(name: string): AttributeFormat | undefined {
    const known = this.byName.get(name)
    if (known !== undefined) return known
    const found = this.cls.findAttribute(name)
    if (found === undefined) return undefined
    const attribute = this.attribute(found.number)
    // As many as there are ways to spell attributes.
    this.byName.set(name, attribute)
    return attribute
  }

  /** The same for an attribute that another object is linked by: undefined where the class does not have it. */
  find(number: AttributeNumber): AttributeFormat | undefined {
    return this.byNumber.get(number)
  }

  /** Values of the class as `layout` takes them: a class as a restricted caller knows it lacks attributes of its shape, which are null then. */
  inShapeOrder(values: readonly unknown[]): readonly unknown[] {
    const { places } = this
    if (places === undefined) return values
    const placed: unknown[] = new Array(this.cls.shape.attributes.length).fill(null)
    for (const [i, place] of places.entries()) if (place >= 0) placed[place] = values[i]
    return placed
  }

  /** What an object has before any attribute is given. */
  defaultValues(): RecordValues {
    this.defaults ??= this.attributes.map((one) => (one.linkStorage === undefined ? creationValue(one) : undefined))
    return {
      values: this.defaults.slice(),
      positions: this.hasPositions ? new Array(this.attributes.length) : noPositions,
    }
  }

  /** Values in the order of the class's attributes, defaults for those that the stored shape does not have. */
  readValues(bytes: Bytes, start: number, end: number, shapeNumber: ShapeNumber): RecordValues {
    const view = this.view(shapeNumber)
    const result = this.defaultValues()
    assert(end <= bytes.length, 'a body lies within its bytes')
    for (let i = 0; i < this.attributes.length; i++) {
      const source = view.sources[i] as number
      const { codec, linkStorage } = this.attributes[i] as AttributeFormat
      if (linkStorage !== undefined) continue
      if (source < 0) {
        result.values[i] = this.unstored(view, i, bytes, start)
        continue
      }
      view.layout.locate(bytes, start, source, slice)
      result.values[i] = slice.start < 0 ? null : (view.readers[i] ?? codec.read)(bytes, slice.start, slice.end)
      if (this.hasPositions) {
        result.positions[i] = view.layout.positionOf(bytes, start, view.positionSources[i] as number)
      }
    }
    return result
  }

  /** The value of one attribute, without reading the others. */
  readValue(bytes: Bytes, start: number, shapeNumber: ShapeNumber, index: number): unknown {
    const view = this.view(shapeNumber)
    const source = view.sources[index] as number
    const { codec } = this.attributes[index] as AttributeFormat
    if (source < 0) return this.unstored(view, index, bytes, start)
    view.layout.locate(bytes, start, source, slice)
    return slice.start < 0 ? null : (view.readers[index] ?? codec.read)(bytes, slice.start, slice.end)
  }

  /** Where the value of one attribute is, as its codec has written it, until the next is looked for; undefined where there is none. */
  stored(bytes: Bytes, start: number, shapeNumber: ShapeNumber, index: number): Readonly<Slice> | undefined {
    const view = this.view(shapeNumber)
    const source = view.sources[index] as number
    if (source < 0 || view.readers[index] !== undefined) return undefined
    view.layout.locate(bytes, start, source, slice)
    return slice.start < 0 ? undefined : slice
  }

  /** Where the eight bytes of a reference are; -1 where they are not stored so: it is null, or of another type then, or the shape lacks it. */
  locateReference(bytes: Bytes, start: number, shapeNumber: ShapeNumber, index: number): number {
    const view = this.view(shapeNumber)
    const source = view.sources[index] as number
    if (source < 0 || view.readers[index] !== undefined) return -1
    view.layout.locate(bytes, start, source, slice)
    return slice.start
  }

  /** Writes the value of one attribute, which is no link. */
  writeValueJson(json: JsonWriter, bytes: Bytes, start: number, shapeNumber: ShapeNumber, index: number): void {
    this.writeValueAt(this.view(shapeNumber), index, bytes, start, json)
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
      if (isFollowing(attribute)) continue
      json.prepared(attribute.jsonName)
      if (attribute.linkStorage !== undefined) writeLinks(attribute)
      else this.writeValueAt(view, i, bytes, start, json)
    }
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

  /** How the value of the attribute is evaluated; undefined for one that is not computed. */
  computedAt(index: number): ComputedValue | undefined {
    if (this.computed === undefined) return undefined
    let value = this.computed[index]
    if (value === undefined) {
      const attribute = this.attributes[index] as AttributeFormat
      value = isComputed(attribute) ? compileComputed(attribute, this.formats.catalog) : null
      this.computed[index] = value
    }
    return value ?? undefined
  }

  /** The value at an index of the class, evaluated where it is computed. */
  valueIn(values: readonly unknown[], index: number): unknown {
    const computed = this.computedAt(index)
    if (computed !== undefined) return computed.valueOf((other) => this.valueIn(values, other))
    const value = values[index]
    return value === defaultPending ? null : value
  }

  /** Of an attribute that the record does not have: its default, or what it is computed of. */
  private unstored(view: ShapeDecoder, index: number, bytes: Bytes, start: number): unknown {
    const computed = this.computedAt(index)
    if (computed === undefined) return view.absent[index]?.value
    return computed.valueOf((other) => this.readValue(bytes, start, view.shapeNumber, other))
  }

  private view(shapeNumber: ShapeNumber): ShapeDecoder {
    // Most objects that are read one after the other have the same shape.
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
    const sources = this.attributes.map(({ attribute }) => {
      return isUnstored(attribute) ? -1 : (places.get(attribute.number) ?? -1)
    })
    const positionSources = this.attributes.map(({ attribute }, i) => {
      const stored = shape.attributes[sources[i] as number]?.spec
      return inverseIn(stored) === inverseIn(attribute.spec) ? (sources[i] as number) : -1
    })
    const shown = new Set(sources)
    const fields = shape.attributes.map(({ spec }, source) => {
      if (this.cls.isReferenceable && linkStorageOf(spec) !== undefined) return undefined
      // What embedded the objects of a class may be deleted, and that class with it.
      const codec = shown.has(source) ? codecFor(spec, this.formats) : layoutCodec(spec, this.formats)
      return { codec, hasPosition: hasPosition(spec) }
    })
    const readers = this.attributes.map(({ attribute, linkStorage }, i) => {
      const source = sources[i] as number
      if (source < 0 || linkStorage !== undefined) return undefined
      return storedReader(this.typesSince(shape, attribute.number), this.formats)
    })
    const absent = this.attributes.map(({ codec, linkStorage }, i): AbsentValue => {
      if (linkStorage !== undefined || (sources[i] as number) >= 0) return { value: undefined, json: nothing }
      const value = this.defaultSince(shape, i)
      return { value, json: jsonOf(codec, value) }
    })
    return { shapeNumber: shape.number, layout: new RecordLayout(fields), sources, positionSources, readers, absent }
  }

  /** What objects of that shape have: the default of the type with which the attribute came, or was there, and what became of it. */
  private defaultSince(shape: Shape, index: number): unknown {
    const { attribute, codec } = this.attributes[index] as AttributeFormat
    const { catalog } = this.formats
    const { spec } = attribute
    if (spec.logicalType === 'object') {
      const first = catalog.shapesSince(shape).find((later) => hasAttribute(later, attribute.number))
      return first === undefined ? codec.defaultValue : this.formats.byNumber(spec.class).defaultsAsOf(first.number)
    }
    const types = this.typesSince(shape, attribute.number)
    const [earliest] = types
    if (earliest === undefined) return codec.defaultValue
    const first = types.length === 1 ? codec : codecFor(earliest.spec, this.formats)
    return convertAll(valueOfJson(first, earliest.initial), conversionsBetween(types, this.formats))
  }

  /** Defaults as the class had them when another class got that shape, as they are now. */
  private defaultsAsOf(shapeNumber: ShapeNumber): unknown[] {
    const { catalog } = this.formats
    const shape = catalog.shapesOf(this.cls.number).findLast(({ number }) => number <= shapeNumber) ?? this.cls.shape
    return this.attributes.map((_attribute, index) => this.defaultSince(shape, index))
  }

  /** The types that the attribute has had from that shape on, the present one last. Shapes share what they have in common (`catalog/shared-attributes.ts`): few are compared by their content. */
  private typesSince(shape: Shape, number: AttributeNumber): ShapeAttribute[] {
    const types: ShapeAttribute[] = []
    for (const later of this.formats.catalog.shapesSince(shape)) {
      const place = placesIn(later).get(number)
      const attribute = place === undefined ? undefined : later.attributes[place]
      if (attribute !== undefined && !isDeepStrictEqual(attribute.spec, types.at(-1)?.spec)) types.push(attribute)
    }
    return types
  }
}

/** In place of a value that an expression gives when the object is written (contract 10.6): a creation has left it out. */
export const defaultPending: unique symbol = Symbol('a default by expression')

/** What a creation that leaves the attribute out gets. */
export function creationValue({ attribute: { spec, properties }, codec }: AttributeFormat): unknown {
  if (isDefaultExpression(properties?.own.default, spec)) return defaultPending
  return valueOfJson(codec, creationDefault(spec, properties))
}

/** The default of the type where nothing is given. */
function valueOfJson(codec: Codec, json: unknown): unknown {
  if (json === undefined) return codec.defaultValue
  return json === null ? null : codec.parse(json)
}

/** Undefined where the bytes are read as they are: one type, or one class of references after another. */
function storedReader(types: readonly ShapeAttribute[], context: CodecContext): StoredReader | undefined {
  const [first] = types
  const steps = conversionsBetween(types, context)
  if (first === undefined || steps.length === 0) return undefined
  const { read } = codecFor(first.spec, context)
  return (bytes, start, end) => convertAll(read(bytes, start, end), steps)
}

/** From each type to the next; classes of references need none. What does not fit becomes what the attribute had by default when it got the type. */
function conversionsBetween(types: readonly ShapeAttribute[], context: CodecContext): Conversion[] {
  return types.slice(1).flatMap(({ spec, conversion, initial }, i) => {
    const lost = valueOfJson(codecFor(spec, context), initial)
    return conversionFor((types[i] as ShapeAttribute).spec, spec, conversion ?? 'lenient', lost) ?? []
  })
}

function convertAll(value: unknown, steps: readonly Conversion[]): unknown {
  let converted = value
  for (const step of steps) converted = converted === null ? null : step.convert(converted)
  return converted
}

function hasAttribute(shape: Shape, number: AttributeNumber): boolean {
  return placesIn(shape).has(number)
}

const placesOfShapes = new WeakMap<Shape, ReadonlyMap<AttributeNumber, number>>()

/** A record, or an object embedded in one, has a shape that the catalog read with it does not know. */
export function unknownShape(number: ShapeNumber): ReadSkew {
  return new ReadSkew(`there is an object of shape ${number}, which the catalog does not have`)
}

/** Where in the shape each attribute is: each attribute of a class asks, of each shape that the class has had. */
function placesIn(shape: Shape): ReadonlyMap<AttributeNumber, number> {
  let places = placesOfShapes.get(shape)
  if (places === undefined) {
    places = new Map(shape.attributes.map(({ number }, place) => [number, place]))
    placesOfShapes.set(shape, places)
  }
  return places
}

const nothing = Buffer.alloc(0)

function isComputed({ attribute: { properties } }: AttributeFormat): boolean {
  const computed = properties?.own.computed
  return isExpression(computed) && !('text' in computed) && computed.isFollowing !== true
}

/** It is read by its name alone: no value of it is in the object. */
export function isFollowing({ attribute: { properties } }: AttributeFormat): boolean {
  const computed = properties?.own.computed
  return isExpression(computed) && !('text' in computed) && computed.isFollowing === true
}

function isUnstored({ properties }: ClassAttribute): boolean {
  const computed = properties?.own.computed
  return isExpression(computed) && computed.isStored !== true
}

/** Its own, or inherited ones. */
function hasChecks({ definition, superClass }: SchemaClass): boolean {
  return definition.properties?.checks !== undefined || (superClass !== null && hasChecks(superClass))
}

/** Enough to know where a value lies that nobody reads any more. */
function layoutCodec(spec: TypeSpec, context: CodecContext): Codec {
  const isEmbedding = spec.logicalType === 'object' || spec.logicalType === 'list'
  return isEmbedding ? unreadCodec : codecFor(spec, context)
}

const unread = (): never => {
  unreachable('a deleted attribute is not read')
}
const unreadCodec: Codec = {
  fixedBytes: undefined,
  isNullable: false,
  defaultValue: null,
  parse: unread,
  accept: unread,
  write: unread,
  read: unread,
  writeJson: unread,
  toJson: unread,
}

/** The class of the objects that values of the type embed, alone or as elements of a list. */
export function embeddedClassOf(spec: TypeSpec): ClassNumber | undefined {
  const held = spec.logicalType === 'list' ? spec.element : spec
  return held.logicalType === 'object' ? held.class : undefined
}

/** Of all objects without places in lists. */
const noPositions = Object.freeze([]) as unknown as (Bytes | undefined)[]

/** Every to-one side of a bidirectional link has room for its place in the partner's list. */
function hasPosition(spec: TypeSpec): boolean {
  return inverseIn(spec) !== null
}

/** Of a single reference. */
function inverseIn(spec: TypeSpec | undefined): AttributeNumber | null {
  return spec?.logicalType === 'reference' ? spec.inverseAttribute : null
}

function holdsJson(spec: TypeSpec, formats: FormatSource): boolean {
  if (spec.logicalType === 'list') return holdsJson(spec.element, formats)
  if (spec.logicalType === 'object') return formats.byNumber(spec.class).holdsJson
  return spec.logicalType === 'json'
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
    linkStorage: cls.isReferenceable ? linkStorageOf(attribute.spec) : undefined,
    index,
    jsonName: new PreparedText(`,${JSON.stringify(attribute.outputName)}:`),
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

function jsonOf(codec: Codec, value: unknown): Buffer {
  const json = new JsonWriter()
  writeValueJson(codec, value, json)
  return json.to.copy()
}

function writeValueJson(codec: Codec, value: unknown, json: JsonWriter): void {
  if (value === null) {
    json.ascii('null')
    return
  }
  const bytes = encodeValue(codec, value)
  codec.writeJson(bytes, 0, bytes.length, json)
}
