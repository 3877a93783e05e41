/** The schema of a federated database at one version: immutable, held in memory, replaced as a whole. */
import type { AttributeNumber, ClassNumber, ShapeNumber } from '../types/type-spec.ts'
import type {
  Attribute,
  CatalogState,
  ClassDefinition,
  IndexDefinition,
  IndexNumber,
  SequenceDefinition,
  Shape,
} from './class-definition.ts'

/** An attribute as seen from one class: own or inherited, perhaps hidden by a nearer one of the same name. */
export interface ClassAttribute extends Attribute {
  readonly declaringClass: SchemaClass
  /** Hidden attributes are accessed, and shown, as `Full.Super::name` (contract 4.2.3). */
  readonly isHidden: boolean
  /** The key under which replies show it. */
  readonly outputName: string
}

/** A class with the information derived from the rest of the catalog. */
export interface SchemaClass {
  readonly definition: ClassDefinition
  readonly number: ClassNumber
  readonly name: string
  /** The part before the last dot; null for the default namespace. */
  readonly namespace: string | null
  readonly isReferenceable: boolean
  readonly superClass: SchemaClass | null
  /** Direct and indirect subclasses, excluding the class itself, by class number. */
  readonly subclasses: readonly SchemaClass[]
  readonly shape: Shape
  /** In schema order, superclass attributes first: the same order as `shape.attributes`. */
  readonly attributes: readonly ClassAttribute[]
  /** Indexes that cover objects of this class, including those of superclasses. */
  readonly indexes: readonly IndexDefinition[]
  /** True for the class itself and its direct and indirect superclasses. */
  isOrInherits(ancestor: ClassNumber): boolean
  /**
   * By unqualified name (the nearest declaration) or `Super::name` (a superclass or the class itself, by full or unambiguous
   * simple name). Undefined if unknown; throws AmbiguousAttribute.
   */
  findAttribute(name: string): ClassAttribute | undefined
}

/** A DO predicate over the objects of a class. */
export interface ObjectPredicate {
  readonly text: string
  /** The class in which its names are resolved. */
  readonly cls: ClassNumber
}

/** Actions on the federated database as a whole. */
export type DatabaseAction = 'write' | 'define'

/** Actions of statements on the objects of a class that they name. */
export type StatementAction = 'query' | 'create' | 'update' | 'delete'

export interface Catalog {
  /**
   * Set if the reader does not see all objects: returns predicates, one of which holds for every visible object of the classes;
   * undefined if none is known.
   */
  readonly predicatesOf?: ((classes: readonly SchemaClass[]) => readonly ObjectPredicate[] | undefined) | undefined
  /** Set for a restricted reader: whether it may perform the action on some objects of the class. If missing, everything is allowed. */
  readonly permits?: ((cls: SchemaClass, action: StatementAction) => boolean) | undefined
  /** Set for a restricted reader: whether it may perform the action on the whole federated database. If missing, everything is allowed. */
  readonly permitsOnDatabase?: ((action: DatabaseAction) => boolean) | undefined
  /** Set for a restricted reader: throws Forbidden if it may not change the catalog to `next`. */
  readonly checkChange?: ((next: CatalogState) => void) | undefined
  /** The catalog by which writers store records and links while references are given inverses; otherwise undefined. */
  readonly writers?: (() => Catalog) | undefined
  /** The commit ID under which this version was committed. */
  readonly version: Uint8Array
  readonly state: CatalogState
  /** By class number, excluding deleted classes. */
  readonly classes: readonly SchemaClass[]
  /** `ooObj`, which is not in `classes`: `classByNumber` finds it, look-ups by name do not. */
  readonly root: SchemaClass
  /** Excluding replacements under construction. */
  readonly indexes: readonly IndexDefinition[]
  classByNumber(number: ClassNumber): SchemaClass | undefined
  classByName(name: string): SchemaClass | undefined
  /** By full name or class number in digits; undefined if it does not exist or is deleted. */
  findClass(nameOrNumber: string): SchemaClass | undefined
  shape(number: ShapeNumber): Shape | undefined
  /** All shapes that the class has had, in order of creation. */
  shapesOf(classNumber: ClassNumber): readonly Shape[]
  /** The shape and later ones of its class, in order of creation. */
  shapesSince(shape: Shape): readonly Shape[]
  attribute(number: AttributeNumber): Attribute | undefined
  indexByName(name: string): IndexDefinition | undefined
  indexByNumber(number: IndexNumber): IndexDefinition | undefined
  sequenceByName(name: string): SequenceDefinition | undefined
}
