/** An object created by an expression; it gets its OID, or its place within another object, where the value is used. */
import type { SchemaClass } from '../../schema/catalog.ts'
import type { BoundAssignment } from '../bind/bound.ts'

export class NewObject {
  readonly cls: SchemaClass
  readonly assignments: readonly BoundAssignment[]
  /** One value per assignment. */
  readonly values: readonly unknown[]

  constructor(cls: SchemaClass, assignments: readonly BoundAssignment[], values: readonly unknown[]) {
    this.cls = cls
    this.assignments = assignments
    this.values = values
  }
}
