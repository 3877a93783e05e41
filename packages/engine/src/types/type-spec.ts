/** The normal form of an attribute's type in the catalog: plain data, with classes and attributes by number. */

export type ClassNumber = number & { readonly brand: 'ClassNumber' }
export type AttributeNumber = number & { readonly brand: 'AttributeNumber' }
export type SequenceNumber = number & { readonly brand: 'SequenceNumber' }
export type ShapeNumber = number & { readonly brand: 'ShapeNumber' }

export type IntegerStorage = 'b8' | 'b16' | 'b32' | 'b64'
export type StringEncoding = 'byte' | 'utf8' | 'utf16' | 'utf32'

export interface BooleanSpec {
  readonly logicalType: 'boolean'
}
export interface CharacterSpec {
  readonly logicalType: 'character'
  readonly storage: 'b8' | 'b16' | 'b32'
}
export interface IntegerSpec {
  readonly logicalType: 'integer'
  readonly encoding: 'signed' | 'unsigned'
  readonly storage: IntegerStorage
}
export interface RealSpec {
  readonly logicalType: 'real'
  readonly storage: 'b32' | 'b64'
}
export interface DecimalSpec {
  readonly logicalType: 'decimal'
  /** Total number of digits, and number of digits after the point. */
  readonly precision: number
  readonly scale: number
}
export interface StringSpec {
  readonly logicalType: 'string'
  readonly encoding: StringEncoding
  readonly storage: 'variable' | 'fixed' | 'optimized'
  /** In code points; required for `fixed`, allowed for `optimized`. */
  readonly fixedLength?: number
}
export interface GuidSpec {
  readonly logicalType: 'guid'
}
export interface DateSpec {
  readonly logicalType: 'date'
}
export interface TimeSpec {
  readonly logicalType: 'time'
}
export interface DateTimeSpec {
  readonly logicalType: 'datetime'
  readonly storage: 'datetime' | 'datetimeoffset'
}
export interface IntervalSpec {
  readonly logicalType: 'interval'
}
export interface BytesSpec {
  readonly logicalType: 'bytes'
}
export interface JsonSpec {
  readonly logicalType: 'json'
}
export interface ReferenceSpec {
  readonly logicalType: 'reference'
  readonly referencedClass: ClassNumber
  /** The partner attribute of a bidirectional link; null for a unidirectional reference. */
  readonly inverseAttribute: AttributeNumber | null
  /** The class of edge objects that are the targets, and their attribute that refers to the object at the far end. Both or neither is set. */
  readonly edgeClass?: ClassNumber
  readonly edgeAttribute?: AttributeNumber
}
export interface EmbeddedSpec {
  readonly logicalType: 'object'
  readonly class: ClassNumber
}
export interface ListSpec {
  readonly logicalType: 'list'
  /** null = a plain array. */
  readonly collectionTypeName: 'TreeListOfReferences' | 'SegmentedArray' | null
  readonly element: ElementSpec
}
export interface SetSpec {
  readonly logicalType: 'set'
  readonly collectionTypeName: 'TreeSetOfReferences' | 'HashSetOfReferences'
  readonly element: ReferenceSpec
}
export interface MapSpec {
  readonly logicalType: 'map'
  readonly collectionTypeName: 'NameToReferenceMap' | 'HashMapOfReferences' | 'TreeMapOfReferences'
  readonly key: StringSpec | ReferenceSpec
  readonly element: ReferenceSpec
}

export type ScalarSpec =
  | BooleanSpec
  | CharacterSpec
  | IntegerSpec
  | RealSpec
  | DecimalSpec
  | StringSpec
  | GuidSpec
  | DateSpec
  | TimeSpec
  | DateTimeSpec
  | IntervalSpec
  | BytesSpec
  | JsonSpec
export type ElementSpec = ScalarSpec | ReferenceSpec | EmbeddedSpec
export type CollectionSpec = ListSpec | SetSpec | MapSpec
export type TypeSpec = ElementSpec | CollectionSpec
export type LogicalTypeName = TypeSpec['logicalType']
