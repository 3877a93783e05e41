/** Classes, attributes, shapes and indexes as the catalog keeps them: plain data, JSON-able, everything by number. */
import type { AttributeNumber, ClassNumber, ShapeNumber, TypeSpec } from '../types/type-spec.ts'
import type { ClassProperties } from './properties/class-properties.ts'
import type { PropertiesOfAttribute } from './properties/index.ts'

export interface Attribute {
  /** Its identity for life, unique in the FD: renames change the name only. */
  readonly number: AttributeNumber
  readonly name: string
  readonly spec: TypeSpec
  /** Constraints, default and texts; absent where there are none. */
  readonly properties?: PropertiesOfAttribute
  /** The number of the index that tells who refers by it (`referrer-indexes.ts`); absent where nothing asks. */
  readonly referrers?: IndexNumber
  /** While its type or its constraints change: what it is to be. Every writer sees to it that its values fit. */
  readonly becoming?: PendingType
  /** Of which its default draws numbers: they cannot be deleted. */
  readonly sequences?: readonly SequenceNumber[]
}

export interface PendingType {
  readonly spec: TypeSpec
  /** Writers see to it that their values satisfy these, too; absent where there are none. */
  readonly properties?: PropertiesOfAttribute
  /** It has that type already: what is to be is the properties alone. */
  readonly keepsType?: true
  readonly isLossAllowed: boolean
  /** The number of the store session of the process that makes the change. */
  readonly session: number
}

export interface ClassDefinition {
  readonly number: ClassNumber
  /** Full name: namespace and simple name joined by a dot. */
  readonly name: string
  readonly isReferenceable: boolean
  readonly isDeleted: boolean
  readonly superClass: ClassNumber | null
  /** The present shape; objects written before may have earlier ones. */
  readonly shapeNumber: ShapeNumber
  /** Whether it may have objects of its own, how tools show it; absent where all is usual. */
  readonly properties?: ClassProperties
  /** The class's own attributes, in schema order. */
  readonly attributes: readonly Attribute[]
  /** Inverses that references are being given (`pairing.ts`): writers keep their links, and readers do not know of them yet. */
  readonly arriving?: readonly Attribute[]
}

/** What a record of that shape number holds, inherited attributes first, in order. Shapes are never changed or removed. */
export interface Shape {
  readonly number: ShapeNumber
  readonly classNumber: ClassNumber
  readonly attributes: readonly ShapeAttribute[]
}
export interface ShapeAttribute {
  readonly number: AttributeNumber
  readonly spec: TypeSpec
  /** What objects of earlier shapes have, as JSON; absent: the default of the type. */
  readonly initial?: unknown
  /** In the shape that came with a change of the type to this one: how values of earlier shapes follow; absent: leniently. */
  readonly conversion?: 'strict'
}

export type IndexNumber = number & { readonly brand: 'IndexNumber' }

/** A key attribute, resolved: the attribute of the indexed class, then those inside embedded objects. */
export interface KeyAttribute {
  readonly path: readonly AttributeNumber[]
  /** Characters of a string key kept in the entry; absent for keys that are not strings. */
  readonly maxStoredStringLength?: number
}

export interface IndexDefinition {
  readonly number: IndexNumber
  readonly name: string
  readonly indexedClass: ClassNumber
  readonly isUnique: boolean
  readonly keyAttributes: readonly KeyAttribute[]
  /** Whose `isUnique` it keeps; absent for an index that was made by itself. */
  readonly attribute?: AttributeNumber
  /**
   * While `building`, every writer keeps the entries of what it writes, and no reader uses them. A `failed` one has no
   * entries, and is only there to tell why.
   */
  readonly state: 'building' | 'ready' | 'failed'
  /** Nobody waits for the build: it goes on after a restart, and tells by `failed` what it could not do. */
  readonly isBackground?: true
  /** While it is `building`: the number of the store session of the process that builds it. */
  readonly session?: number
  readonly failure?: { readonly type: string; readonly message: string }
  /** Set while a key attribute changes its type: the index, of the same name, whose place this one is to take. */
  readonly replaces?: IndexNumber
}

export type SequenceNumber = number & { readonly brand: 'SequenceNumber' }

/** What its next number is stands in an entry of its own, which changes without the catalog. */
export interface SequenceDefinition {
  readonly number: SequenceNumber
  readonly name: string
  /** Of 64 bits, and so decimal digits: JSON has no such numbers. */
  readonly start: string
  /** The same; not 0. */
  readonly step: string
}

/** The next numbers to be given out; one counter serves classes and shapes (contract 5.1.24). */
export interface CatalogCounters {
  readonly classOrShape: number
  readonly attribute: number
  readonly index: number
  /** The epoch of the change log that commits are written to; absent or 0 where it is off. */
  readonly changeLog?: number
  /** The latest epoch that there was. */
  readonly lastChangeLog?: number
  /** Absent where there was no sequence yet. */
  readonly sequence?: number
}

/** All that the catalog holds; `Catalog` is the view of it with look-ups. */
export interface CatalogState {
  readonly counters: CatalogCounters
  readonly classes: readonly ClassDefinition[]
  readonly shapes: readonly Shape[]
  readonly indexes: readonly IndexDefinition[]
  readonly sequences: readonly SequenceDefinition[]
}
