/** The commands that change objects: attributes resolved, values as they are kept. */
import type { AttributeChange } from '../records/attribute-change.ts'
import type { ClassFormat } from '../records/class-format.ts'
import type { SchemaClass } from '../schema/catalog.ts'
import type { Oid } from '../types/oid.ts'

export interface CreateObject {
  readonly cls: SchemaClass
  readonly changes: readonly AttributeChange[]
}

export interface UpdateObject {
  readonly oid: Oid
  readonly changesOf: ChangesOf
}

/**
 * The changes of an object of that class. Which class an object has is known when it has been read, so its attributes are resolved
 * then. Throws what reading the command throws.
 */
export type ChangesOf = (format: ClassFormat, oid: Oid) => Promise<readonly AttributeChange[]>

export interface DeleteObject {
  readonly oid: Oid
}
