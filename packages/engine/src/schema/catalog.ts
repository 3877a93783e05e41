/** The schema of an FD at one version: immutable, held in memory, replaced whole. */
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
  /** Hidden ones are reached, and shown, as `Full.Super::name` (contract 4.2.3). */
  readonly isHidden: boolean
  /** The key under which replies show it. */
  readonly outputName: string
}

/** One class with everything that follows from the catalog around it. */
export interface SchemaClass {
  readonly definition: ClassDefinition
  readonly number: ClassNumber
  readonly name: string
  /** Everything before the last dot; null = the default namespace. */
  readonly namespace: string | null
  readonly isReferenceable: boolean
  readonly superClass: SchemaClass | null
  /** Direct and indirect, in order of class number; the class itself is not among them. */
  readonly subclasses: readonly SchemaClass[]
  readonly shape: Shape
  /** In schema order, superclass attributes first: the same order as `shape.attributes`. */
  readonly attributes: readonly ClassAttribute[]
  /** Indexes that cover objects of this class: its own and its superclasses'. */
  readonly indexes: readonly IndexDefinition[]
  /** True for the class itself and its direct and indirect superclasses. */
  isOrInherits(ancestor: ClassNumber): boolean
  /**
   * By unqualified name (the nearest declaration) or `Super::name` (superclass, or the class itself, by full or
   * unambiguous simple name). Undefined for an unknown one; throws AmbiguousAttribute.
   */
  findAttribute(name: string): ClassAttribute | undefined
}

/** A predicate of DO over the objects of a class. */
export interface ObjectPredicate {
  readonly text: string
  /** Whose attributes its names mean. */
  readonly cls: ClassNumber
}

/** What is about the federated database as a whole, and not about classes of it. */
export type WholeAction = 'write' | 'define'

/** What statements do with the objects of a class that they name. */
export type StatementAction = 'query' | 'create' | 'update' | 'delete'

export interface Catalog {
  /**
   * Of a catalog for a reader that does not see all objects: predicates of which one holds for every object of the classes that it sees; undefined
   * where none is known.
   */
  readonly predicatesOf?: ((classes: readonly SchemaClass[]) => readonly ObjectPredicate[] | undefined) | undefined
  /** Of a catalog for a reader that may not do everything: whether it may do that with some objects of the class. Undefined: everything. */
  readonly permits?: ((cls: SchemaClass, action: StatementAction) => boolean) | undefined
  /** Of such a catalog: whether the reader may do that with the whole federated database. Undefined: everything. */
  readonly permitsWhole?: ((action: WholeAction) => boolean) | undefined
  /** Of such a catalog: throws Forbidden where the reader may not make that of it. */
  readonly checkChange?: ((next: CatalogState) => void) | undefined
  /** The catalog by which writers keep records and links while references are being given inverses; undefined at other times. */
  readonly writers?: (() => Catalog) | undefined
  /** The commit ID under which this version was committed. */
  readonly version: Uint8Array
  readonly state: CatalogState
  /** Classes that are not deleted, by class number. */
  readonly classes: readonly SchemaClass[]
  /** `ooObj`, which is not among the classes: `classByNumber` knows it, look-ups by name do not. */
  readonly root: SchemaClass
  /** Without those that are to take the place of another. */
  readonly indexes: readonly IndexDefinition[]
  classByNumber(number: ClassNumber): SchemaClass | undefined
  classByName(name: string): SchemaClass | undefined
  /** By full name or digits; undefined when there is none (or it is deleted). */
  findClass(nameOrNumber: string): SchemaClass | undefined
  shape(number: ShapeNumber): Shape | undefined
  /** All that the class has had, in the order in which they came. */
  shapesOf(classNumber: ClassNumber): readonly Shape[]
  /** The shape and the later ones of its class, in the order in which they came. */
  shapesSince(shape: Shape): readonly Shape[]
  attribute(number: AttributeNumber): Attribute | undefined
  indexByName(name: string): IndexDefinition | undefined
  indexByNumber(number: IndexNumber): IndexDefinition | undefined
  sequenceByName(name: string): SequenceDefinition | undefined
}
