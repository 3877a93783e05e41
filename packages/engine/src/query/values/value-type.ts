/** Types of expressions. They are static, i.e. known before the first row is read, and all include null. */
import { assert } from '../../errors.ts'
import type { Catalog, SchemaClass } from '../../schema/catalog.ts'
import type { DateTimeSpec, ScalarSpec, TypeSpec } from '../../types/type-spec.ts'

/** One for each scalar type; datetimes with an offset are a separate kind. */
export type ScalarKind = Exclude<ScalarSpec['logicalType'], 'datetime'> | DateTimeSpec['storage']

export interface ScalarType {
  readonly kind: ScalarKind
  /** For a real: it has 32 bits, and values compared with it are rounded to 32 bits first. */
  readonly isSingle?: boolean
  /** For a real: some value has a fraction that its double lost, and so is not an integer. */
  readonly isFraction?: boolean
  /** For a decimal: written as a number that no double represents exactly; treated as a real unless combined with a decimal. */
  readonly isWritten?: true
  /** For the result of CAST to a decimal: the maximum numbers of digits in total and after the point. */
  readonly digits?: { readonly precision: number; readonly scale: number }
}
/** The type of the literal null and of an empty list's elements. */
export interface NullType {
  readonly kind: 'null'
}
/** In memory: an OID as text. 0-0-0-0 refers to nothing: it is equal only to itself, and IS_NULL. */
export interface ReferenceType {
  readonly kind: 'reference'
  /** Null for objects of any class. */
  readonly cls: SchemaClass | null
}
/** OBJECT(ref): a reference that is written to replies as the whole object. */
export interface ObjectType {
  readonly kind: 'object'
  readonly cls: SchemaClass | null
}
/** In memory: the values of the attributes, in the order of the class. */
export interface EmbeddedType {
  readonly kind: 'embedded'
  readonly cls: SchemaClass
}
/** In memory: an array. */
export interface CollectionType {
  readonly kind: 'collection'
  readonly form: 'list' | 'set' | 'sequence'
  readonly element: ValueType
}
/** In memory: an array of `{key, value}` in key order. */
export interface MapType {
  readonly kind: 'map'
  readonly key: ValueType
  readonly element: ValueType
}
/** In memory: an array of the fields' values. The type of nested statements' rows, rows of a file and JSON objects. */
export interface RecordType {
  readonly kind: 'record'
  readonly fields: readonly RecordField[]
}
export interface RecordField {
  readonly name: string
  readonly type: ValueType
  /** The fields of the value are written among the other fields of the record: `{*, e AS x}`. Allowed for the first field. */
  readonly isSpread?: true
}
/** An edge of a walk, see `Edge`. A walk is a sequence of edges. */
export interface EdgeType {
  readonly kind: 'edge'
}

export type ValueType =
  | ScalarType
  | NullType
  | ReferenceType
  | ObjectType
  | EmbeddedType
  | CollectionType
  | MapType
  | RecordType
  | EdgeType

export const booleanType: ScalarType = { kind: 'boolean' }
export const integerType: ScalarType = { kind: 'integer' }
export const realType: ScalarType = { kind: 'real' }
export const fractionType: ScalarType = { kind: 'real', isFraction: true }
export const decimalType: ScalarType = { kind: 'decimal' }
export const writtenType: ScalarType = { kind: 'decimal', isWritten: true }
export const stringType: ScalarType = { kind: 'string' }
export const jsonType: ScalarType = { kind: 'json' }
export const nullType: NullType = { kind: 'null' }
export const edgeType: EdgeType = { kind: 'edge' }
export const walkType: CollectionType = { kind: 'collection', form: 'sequence', element: edgeType }

export function isNumeric(type: ValueType): boolean {
  return type.kind === 'integer' || type.kind === 'real' || type.kind === 'decimal'
}

export function isReference(type: ValueType): type is ReferenceType | ObjectType {
  return type.kind === 'reference' || type.kind === 'object'
}

export function isScalarType(type: ValueType): type is ScalarType {
  switch (type.kind) {
    case 'null':
    case 'reference':
    case 'object':
    case 'embedded':
    case 'collection':
    case 'map':
    case 'record':
    case 'edge':
      return false
    default:
      return Boolean(type satisfies ScalarType)
  }
}

export function typeOfSpec(spec: TypeSpec, catalog: Catalog): ValueType {
  switch (spec.logicalType) {
    case 'reference':
      return { kind: 'reference', cls: catalog.classByNumber(spec.referencedClass) ?? null }
    case 'object': {
      const cls = catalog.classByNumber(spec.class)
      assert(cls !== undefined, 'an embedded class is in the catalog')
      return { kind: 'embedded', cls }
    }
    case 'list':
      return { kind: 'collection', form: 'list', element: typeOfSpec(spec.element, catalog) }
    case 'set':
      return { kind: 'collection', form: 'set', element: typeOfSpec(spec.element, catalog) }
    case 'map':
      return { kind: 'map', key: typeOfSpec(spec.key, catalog), element: typeOfSpec(spec.element, catalog) }
    case 'real':
      return spec.storage === 'b32' ? { kind: 'real', isSingle: true } : realType
    case 'datetime':
      return { kind: spec.storage }
    default:
      return { kind: spec.logicalType }
  }
}

/** A logical type as written in DO. */
export function wordOfType(logicalType: string): string {
  if (logicalType === 'datetime') return 'DateTime'
  if (logicalType === 'datetimeoffset') return 'DateTimeOffset'
  return `${logicalType.charAt(0).toUpperCase()}${logicalType.slice(1)}`
}

/** The type's name in messages. */
export function typeName(type: ValueType): string {
  switch (type.kind) {
    case 'reference':
    case 'object':
      return type.cls === null ? 'reference' : `reference to ${type.cls.name}`
    case 'embedded':
      return `embedded ${type.cls.name}`
    case 'collection':
      return `${type.form} of ${typeName(type.element)}`
    case 'map':
      return `map of ${typeName(type.element)}`
    case 'record':
      return 'record'
    default:
      return type.kind
  }
}

export function aTypeName(type: ValueType): string {
  const name = typeName(type)
  if (type.kind === 'bytes' || type.kind === 'json') return name
  return `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`
}

export function isFraction(type: ValueType): boolean {
  return type.kind === 'real' && type.isFraction === true
}

export function isWritten(type: ValueType): boolean {
  return type.kind === 'decimal' && type.isWritten === true
}

export function isText(type: ValueType): boolean {
  return type.kind === 'string' || type.kind === 'character'
}

/** Whether a path through it continues for each element. */
export function isMany(type: ValueType): type is CollectionType | MapType {
  return type.kind === 'collection' || type.kind === 'map'
}
