/**
 * The commands that change classes and indexes. They refer to classes and attributes by name, since each attempt resolves them
 * in its own catalog. The place of an error (`ErrorDetail.place`) is the path from the command's fields; in `DefineClasses`,
 * from its `classes`.
 */
import type { TypeDefinition } from '../types/type-definition.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { PropertiesInput } from './properties/index.ts'

/** `create`: every class must be new, or ClassExists is thrown. */
export type DefineMode = 'create' | 'createOrExtend'

export interface DefineSettings {
  /** References that do not fit a new inverse are cleared; otherwise the command is rejected. */
  readonly isLossAllowed: boolean
}

/** Defines all classes or none. */
export interface DefineClasses extends Partial<DefineSettings> {
  readonly mode: DefineMode
  readonly classes: readonly ClassDescription[]
  /** The numbers of new classes, one per description, distinct and unused; by default the next ones. */
  readonly numbers?: readonly ClassNumber[]
}

export interface ClassDescription {
  /** Name or class number in digits. Undefined if only `classNumber` is given. */
  readonly className: string | undefined
  /** Digits. Set in descriptions written by hand; the number in a representation that was read is informational. */
  readonly classNumber?: string | undefined
  readonly isReferenceable: boolean | undefined
  /** Name or digits; undefined if not given, null if explicitly none. */
  readonly superClass: string | null | undefined
  /** Fields of class properties as given, validated with the catalog; null removes one. */
  readonly properties?: PropertiesInput | undefined
  readonly attributes: readonly AttributeDescription[]
}

export interface AttributeDescription {
  readonly attributeName: string
  readonly type: TypeDefinition
  /** Fields of attribute properties as given, and those of `elementSpecification`; validated with the catalog. */
  readonly properties?: PropertiesInput | undefined
  readonly elementProperties?: PropertiesInput | undefined
}

/** A class by full name or by class number in digits. */
interface ClassCommand {
  readonly className: string
}

export interface RenameClass extends ClassCommand {
  readonly kind: 'renameClass'
  /** A name without a dot stays in the same namespace; a leading dot moves it to the default one. */
  readonly classRename: string
}

/** Executed in the order of the lists. */
export interface AlterAttributes extends ClassCommand, AlterSettings {
  readonly kind: 'alterAttributes'
  readonly attributesToDelete: readonly string[]
  readonly attributesToRename: readonly AttributeRename[]
  readonly attributesToChange: readonly AttributeDescription[]
  readonly attributesToAdd: readonly AttributeDescription[]
  readonly attributesToConstrain: readonly AttributeConstraints[]
  /** Fields of class properties as given; null removes one. */
  readonly classFields: PropertiesInput | undefined
  /** Checks to add as in definitions, checks to delete by name. If both are missing, `classFields` may replace all checks. */
  readonly checksToAdd?: readonly unknown[]
  readonly checksToDelete?: readonly string[]
}

/** The given properties of an attribute and of its `elementSpecification`; null removes one. */
export type AttributeConstraints = Omit<AttributeDescription, 'type'>

export interface AttributeRename {
  readonly originalName: string
  readonly newName: string
}

export interface AlterSettings {
  /** Deletes the indexes that use a deleted attribute and the partners of its links; otherwise the command is rejected. */
  readonly isCascading: boolean
  /** Values that do not fit the new type become its default; otherwise the command is rejected. */
  readonly isLossAllowed: boolean
  /** If false, existing objects may violate new constraints, which then apply only to writes. */
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

/** 64-bit numbers. */
export interface CreateSequence {
  readonly name: string
  readonly start: bigint
  readonly step: bigint
}

/** `next`: independent of the numbers drawn before; undefined if the sequence is exhausted. */
export interface RestartSequence {
  readonly name: string
  readonly next: bigint | undefined
}

export interface DeleteSequence {
  readonly name: string
}
