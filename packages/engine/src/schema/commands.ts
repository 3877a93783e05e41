/**
 * The commands that change classes and indexes: what is wanted, with classes and attributes by name, since they are looked up in the
 * catalog of each attempt. An error names its place (`ErrorDetail.place`) by the steps that lead there from the command's fields; in
 * `DefineClasses`, from its `classes`.
 */
import type { TypeDefinition } from '../types/type-definition.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { GivenProperties } from './properties/index.ts'

/** `create`: every class is new, else ClassExists. */
export type DefineMode = 'create' | 'createOrExtend'

export interface DefineSettings {
  /** References that do not fit the inverse that an attribute is given are cleared; else the command is refused. */
  readonly isLossAllowed: boolean
}

/** All classes are defined, or none. */
export interface DefineClasses extends Partial<DefineSettings> {
  readonly mode: DefineMode
  readonly classes: readonly ClassDescription[]
  /** What new classes are numbered as, one a description, each number its own and none given yet; without it they get the next ones. */
  readonly numbers?: readonly ClassNumber[]
}

export interface ClassDescription {
  /** Name, or digits that are a class number. Undefined where only `classNumber` is given. */
  readonly className: string | undefined
  /** Digits. Set in descriptions written by hand; a read representation's number is informational. */
  readonly classNumber?: string | undefined
  readonly isReferenceable: boolean | undefined
  /** Undefined = not said; null = said to be none. Name or digits. */
  readonly superClass: string | null | undefined
  /** Fields of class properties as given, checked with the catalog; null takes one away. */
  readonly properties?: GivenProperties | undefined
  readonly attributes: readonly AttributeDescription[]
}

export interface AttributeDescription {
  readonly attributeName: string
  readonly type: TypeDefinition
  /** Fields of attribute properties as given, and those of `elementSpecification`; checked with the catalog. */
  readonly properties?: GivenProperties | undefined
  readonly elementProperties?: GivenProperties | undefined
}

/** A class by full name, or digits that are its class number. */
interface ClassCommand {
  readonly className: string
}

export interface RenameClass extends ClassCommand {
  readonly kind: 'renameClass'
  /** Without a dot: in the same namespace; with a leading one: in the default one. */
  readonly classRename: string
}

/** Carried out in the order of the lists. */
export interface AlterAttributes extends ClassCommand, AlterSettings {
  readonly kind: 'alterAttributes'
  readonly attributesToDelete: readonly string[]
  readonly attributesToRename: readonly AttributeRename[]
  readonly attributesToChange: readonly AttributeDescription[]
  readonly attributesToAdd: readonly AttributeDescription[]
  readonly attributesToConstrain: readonly AttributeConstraints[]
  /** Fields of class properties as given; null takes one away. */
  readonly classFields: GivenProperties | undefined
  /** As definitions give them; by name, those that go. Without them, `classFields` may have all checks. */
  readonly checksToAdd?: readonly unknown[]
  readonly checksToDelete?: readonly string[]
}

/** What is given of the properties of an attribute, and of those of its `elementSpecification`; null takes one away. */
export type AttributeConstraints = Omit<AttributeDescription, 'type'>

export interface AttributeRename {
  readonly originalName: string
  readonly newName: string
}

export interface AlterSettings {
  /** Indexes that use a deleted attribute, and the partners of its links, are deleted with it; else the command is refused. */
  readonly isCascading: boolean
  /** Values that do not fit the new type become its default; else the command is refused. */
  readonly isLossAllowed: boolean
  /** False: existing objects may violate constraints that are new, which only what is written is held against. */
  readonly isValidating: boolean
}

export type AlterClass = RenameClass | AlterAttributes

export type DeleteClass = ClassCommand

export interface CreateIndex {
  readonly name: string
  readonly indexedClass: string
  readonly isUnique: boolean
  readonly keyAttributes: readonly KeyDescription[]
}

export interface KeyDescription {
  /** `name`, `embedded.name`, `Super::name`. */
  readonly attributeName: string
  readonly maxStoredStringLength?: number | undefined
}

export interface DeleteIndex {
  readonly name: string
}

/** Of 64 bits each. */
export interface CreateSequence {
  readonly name: string
  readonly start: bigint
  readonly step: bigint
}

/** The next number is this one, whatever the sequence has given before; there is none where it is undefined. */
export interface RestartSequence {
  readonly name: string
  readonly next: bigint | undefined
}

export interface DeleteSequence {
  readonly name: string
}
