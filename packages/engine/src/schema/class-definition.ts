/** Classes, attributes, shapes and indexes as stored in the catalog: plain JSON data with references by number. */
import type { AttributeNumber, ClassNumber, SequenceNumber, ShapeNumber, TypeSpec } from '../types/type-spec.ts'
import type { Check } from './properties/checks.ts'
import type { ClassProperties } from './properties/class-properties.ts'
import type { PropertiesOfAttribute } from './properties/index.ts'

export interface Attribute {
  /** Permanent and unique in the federated database; a rename changes only the name. */
  readonly number: AttributeNumber
  readonly name: string
  readonly spec: TypeSpec
  /** Constraints, default and texts; absent if there are none. */
  readonly properties?: PropertiesOfAttribute
  /** The number of the index of its referrers (`referrer-indexes.ts`); absent if not needed. */
  readonly referrers?: IndexNumber
  /** The new type or constraints while they change. Every writer ensures that its values fit. */
  readonly becoming?: PendingType
}

export interface PendingType {
  readonly spec: TypeSpec
  /** Writers ensure that their values satisfy these, too; absent if there are none. */
  readonly properties?: PropertiesOfAttribute
  /** The type is unchanged: only the properties change. */
  readonly keepsType?: true
  /** The index of its referrers while that is being built: every writer maintains the entries, and no reader uses them. */
  readonly referrers?: IndexNumber
  readonly isLossAllowed: boolean
  /** The store session of the process that makes the change. */
  readonly session: number
}

export interface ClassDefinition {
  readonly number: ClassNumber
  /** Full name: namespace and simple name, joined by a dot. */
  readonly name: string
  readonly isReferenceable: boolean
  readonly isDeleted: boolean
  readonly superClass: ClassNumber | null
  /** The present shape; older objects may have earlier ones. */
  readonly shapeNumber: ShapeNumber
  /** For example whether it is abstract and how tools show it; absent if all are defaults. */
  readonly properties?: ClassProperties
  /** The class's own attributes, in schema order. */
  readonly attributes: readonly Attribute[]
  /** Inverses under construction (`pairing.ts`): writers maintain their links, and readers do not see them yet. */
  readonly arriving?: readonly Attribute[]
  /** New checks while stored objects are held against them: writers enforce them, and readers do not see them yet. */
  readonly pendingChecks?: readonly PendingCheck[]
  /** Of a change in the background; a failure is shown until the class is changed again. */
  readonly validation?: ClassValidation
}

export type ClassValidation =
  /** While the change is running: the store session of the process that makes it. */
  | { readonly session: number; readonly failure?: undefined }
  | { readonly session?: undefined; readonly failure: ValidationFailure }

/** The error that the change would have had in the foreground. */
export interface ValidationFailure {
  readonly type: string
  readonly message: string
  readonly [extension: string]: unknown
}

export interface PendingCheck extends Check {
  /** The store session of the process that makes the change. */
  readonly session: number
}

/** The attributes in records of that shape number, in order, inherited ones first. Shapes are never changed or removed. */
export interface Shape {
  readonly number: ShapeNumber
  readonly classNumber: ClassNumber
  readonly attributes: readonly ShapeAttribute[]
}
export interface ShapeAttribute {
  readonly number: AttributeNumber
  readonly spec: TypeSpec
  /**
   * The value in objects of earlier shapes, as JSON; if absent, the default of the type. For an embedded object: its values by
   * attribute number; one that is left out is as in the shape that its class had then.
   */
  readonly initial?: unknown
  /** Set in the shape created by a change to this type: how values of earlier shapes are converted; if absent, leniently. */
  readonly conversion?: 'strict'
  /** Set in the shape created by a change of the attribute's expression: its values in earlier shapes are obsolete. */
  readonly isRecomputed?: true
}

export type IndexNumber = number & { readonly brand: 'IndexNumber' }

/** A key attribute, resolved: the attribute of the indexed class, then those inside embedded objects. */
export interface KeyAttribute {
  readonly path: readonly AttributeNumber[]
  /** Characters of a string key stored in the entry; absent for other keys. */
  readonly maxStoredStringLength?: number
}

export interface IndexDefinition {
  readonly number: IndexNumber
  readonly name: string
  readonly indexedClass: ClassNumber
  readonly isUnique: boolean
  readonly keyAttributes: readonly KeyAttribute[]
  /** The attribute whose `isUnique` the index enforces; absent for an index created explicitly. */
  readonly attribute?: AttributeNumber
  /**
   * While `building`, every writer maintains the entries of its writes, and no reader uses them. A `failed` index has no
   * entries and only records the failure.
   */
  readonly state: 'building' | 'ready' | 'failed'
  /** The build runs in the background: it resumes after a restart and reports failure by state `failed`. */
  readonly isBackground?: true
  /** While `building`: the store session of the process that builds it. */
  readonly session?: number
  readonly failure?: { readonly type: string; readonly message: string }
  /** Set while a key attribute changes its type: the index of the same name that this one will replace. */
  readonly replaces?: IndexNumber
}

/** The next number is stored in a separate entry, which changes without the catalog. */
export interface SequenceDefinition {
  readonly number: SequenceNumber
  readonly name: string
  /** 64 bits, in decimal digits because JSON numbers are less precise. */
  readonly start: string
  /** 64 bits in decimal digits; not 0. */
  readonly step: string
}

/** The next numbers to assign; classes and shapes share one counter (contract 5.1.24). */
export interface CatalogCounters {
  readonly classOrShape: number
  readonly attribute: number
  readonly index: number
  /** The epoch of the change log to which commits are written; absent or 0 if it is off. */
  readonly changeLog?: number
  /** The latest epoch used. */
  readonly lastChangeLog?: number
  /** Absent before the first sequence. */
  readonly sequence?: number
}

/** The complete content of the catalog; `Catalog` adds look-ups. */
export interface CatalogState {
  readonly counters: CatalogCounters
  readonly classes: readonly ClassDefinition[]
  readonly shapes: readonly Shape[]
  readonly indexes: readonly IndexDefinition[]
  readonly sequences: readonly SequenceDefinition[]
}
